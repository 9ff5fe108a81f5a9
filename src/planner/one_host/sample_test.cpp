#include "planner/one_host/sample.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(PredictionError, IsRelativeToWhatWasMeasured) {
  const std::vector<Sample> samples{{.bytes = 1, .seconds = 1}, {.bytes = 2, .seconds = 4}, {.bytes = 3, .seconds = 3}};
  const PredictionError error = error_of(samples, [](const Sample& sample) { return sample.bytes; });
  EXPECT_DOUBLE_EQ(error.median, 0);
  EXPECT_DOUBLE_EQ(error.worst, 0.5);
  EXPECT_DOUBLE_EQ(error_of({}, [](const Sample&) { return 1.0; }).worst, 0);
}

}  // namespace lockstep
