#include "lab/input_file.h"

#include "base/atomic_file.h"

#include <fmt/format.h>
#include <lockstep/error.h>

namespace lockstep::lab {

std::string InputFile::content() const {
  try {
    return read_file(path_);
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidArgument, error.what());
  }
}

void InputFile::refuse(const std::string& why) const {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path_.string(), why));
}

}  // namespace lockstep::lab
