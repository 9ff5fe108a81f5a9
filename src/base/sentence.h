#pragma once

#include <string>

namespace lockstep {

/// Of a text that ends a sentence, if it does not do so itself, as a question does.
std::string with_full_stop(std::string text);
/// Of a text that something follows in its sentence.
std::string without_full_stop(std::string text);

}  // namespace lockstep
