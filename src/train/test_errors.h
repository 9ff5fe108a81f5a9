#pragma once

#include <lockstep/error.h>

#include <optional>
#include <string>

namespace lockstep::test {

/// What a piece of work threw.
struct Thrown {
  std::optional<ErrorCode> code;
  std::string text = "no error";
};

template <class Work>
Thrown thrown_by(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

/// Its text only.
template <class Work>
std::string error_of(const Work& work) {
  return thrown_by(work).text;
}

}  // namespace lockstep::test
