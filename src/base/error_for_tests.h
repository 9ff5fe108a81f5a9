#pragma once

#include <gmock/gmock.h>
#include <lockstep/error.h>

#include <exception>
#include <string>

namespace lockstep::testing_support {

/// Of a call that throws an Error of this code, in whose sentence these words stand.
inline auto refuses(ErrorCode code, const std::string& words) {
  return testing::Throws<Error>(
      testing::AllOf(testing::Property("code", &Error::code, code),
                     testing::Property("what", &std::exception::what, testing::HasSubstr(words))));
}

}  // namespace lockstep::testing_support
