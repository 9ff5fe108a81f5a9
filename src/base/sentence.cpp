#include "base/sentence.h"

namespace lockstep {

std::string with_full_stop(std::string text) {
  if (!text.ends_with('.') && !text.ends_with('?')) text += '.';
  return text;
}

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace lockstep
