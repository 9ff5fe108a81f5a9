#pragma once

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <string>

namespace lockstep::lab {

/// What the call is refused with.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace lockstep::lab
