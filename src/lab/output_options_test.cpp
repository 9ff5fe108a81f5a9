#include "lab/output_options.h"

#include "lab/refusal_for_tests.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

TEST(OutputOptions, PrintsAboutFiftyLines) {
  OutputOptions options;
  EXPECT_EQ(options.print_every(2000), 40);
  EXPECT_EQ(options.print_every(20), 1);
  options.every = 7;
  EXPECT_EQ(options.print_every(2000), 7);
}

TEST(OutputOptions, WhatCannotBeIsRefusedByName) {
  EXPECT_THAT(refusal_of([] { validate(OutputOptions{.every = -1}); }),
              HasSubstr("--every must be at least 0, not -1"));
  EXPECT_THAT(refusal_of([] { make_folder(OutputOptions{.out = "/dev/null/runs"}); }),
              HasSubstr("--out /dev/null/runs"));
}

}  // namespace lockstep::lab
