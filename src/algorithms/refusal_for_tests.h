#pragma once

#include "algorithms/catalog.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <string>

namespace lockstep::testing_support {

/// Why there is no algorithm of that name.
inline std::string refusal(const std::string& name) {
  try {
    (void)find_algorithm(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "found";
}

}  // namespace lockstep::testing_support
