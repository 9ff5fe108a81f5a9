#include "base/error_for_tests.h"
#include "group/stored_calibration_for_tests.h"
#include "group/thread_world.h"
#include "planner/calibration/calibrated_timing.h"
#include "planner/one_host/tcp_model_for_tests.h"
#include "planner/pricing/price.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <lockstep/prediction.h>

#include <cstdlib>
#include <limits>

namespace lockstep {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

/// No calibration, whatever this machine has.
class Uncalibrated {
 public:
  Uncalibrated() { ::setenv("XDG_CACHE_HOME", "/nonexistent", 1); }
  ~Uncalibrated() { ::unsetenv("XDG_CACHE_HOME"); }
};

TEST(Prediction, IsNoneWhereNothingIsKnown) {
  const Uncalibrated none;
  run_threads(2, [](World& world) { EXPECT_EQ(predicted_ms(world, Collective::kAllReduce, kBytes), std::nullopt); });
  EXPECT_EQ(predicted_ms(World::alone(), Collective::kAllReduce, kBytes), std::nullopt);
}

TEST(Prediction, IsNoneOverANetworkThatNobodyMeasured) {
  const StoredCalibration stored(1e-10);  // of this host's memory
  detail::run_threads_over_tcp(
      2, [](World& world) { EXPECT_EQ(predicted_ms(world, Collective::kAllReduce, kBytes), std::nullopt); });
}

TEST(Prediction, OverTcpOnOneHostItIsWhatTheCalibrationOfThisMachineSays) {
  const StoredCalibration stored(1e-10, tcp_model_for_tests(4));
  const TcpModel model = stored_calibration(this_machine())->tcp.model;
  detail::run_threads_over_tcp(3, [&](World& world) {
    const TcpJob ring(schedule_for("ring", {.collective = Collective::kAllReduce, .ranks = 3}));
    const auto predicted = predicted_ms(world, Collective::kAllReduce, kBytes, {.algorithm = "ring"});
    EXPECT_DOUBLE_EQ(predicted.value(), 1000 * model.predict(ring, kBytes));
  });
  detail::run_threads_over_tcp(5, [&](World& world) {
    EXPECT_EQ(predicted_ms(world, Collective::kAllReduce, kBytes), std::nullopt) << "of so many nothing was measured";
  });
}

TEST(Prediction, IsNoneForAFileThatIsNoCalibration) {
  const StoredCalibration stored(1e-10);
  std::ofstream(*calibration_file()) << "{";
  run_threads(2, [](World& world) { EXPECT_EQ(predicted_ms(world, Collective::kAllReduce, kBytes), std::nullopt); });
}

TEST(Prediction, IsWhatTheCalibrationOfThisMachineSays) {
  const StoredCalibration stored(1e-10);
  const auto calibration = stored_calibration(this_machine());
  ASSERT_TRUE(calibration.has_value());
  run_threads(3, [&](World& world) {
    for (const auto collective : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather}) {
      for (const std::size_t bytes : {kBytes, kBytes / 4}) {
        const CalibratedTiming ring(*calibration, Medium::kSharedMemory,
                                    schedule_for("ring", {.collective = collective, .ranks = 3}));
        const double expected = 1000 * ring.seconds({static_cast<double>(bytes)});
        EXPECT_DOUBLE_EQ(predicted_ms(world, collective, bytes, {.algorithm = "ring"}).value(), expected);
      }
    }
    const auto automatic = world.algorithm_for(Collective::kAllReduce, kBytes);
    EXPECT_EQ(predicted_ms(world, Collective::kAllReduce, kBytes),
              predicted_ms(world, Collective::kAllReduce, kBytes, {.algorithm = automatic}));
    EXPECT_GT(predicted_ms(world, Collective::kAllReduce, kBytes).value(), 0);
  });
}

TEST(Prediction, InATrainingOfALargeModelIsOfColdBuffers) {
  const StoredCalibration stored(1e-10);
  const auto calibration = stored_calibration(this_machine());
  ASSERT_TRUE(calibration.has_value());
  run_threads(2, [&](World& world) {
    const double model_bytes = double{1 << 30};
    predict_in_training(world, static_cast<std::size_t>(model_bytes));
    const CalibratedTiming direct(*calibration, Medium::kSharedMemory,
                                  schedule_for("direct", {.collective = Collective::kAllReduce, .ranks = 2}));
    const HostOperation cold{static_cast<double>(kBytes), kTouchedPerModelByte * model_bytes};
    EXPECT_DOUBLE_EQ(predicted_ms(world, Collective::kAllReduce, kBytes, {.algorithm = "direct"}).value(),
                     1000 * direct.seconds(cold));
  });
}

/// The field's formulas: 2 (p-1) alpha + 2 (p-1)/p n beta for a ring, half of it for its halves.
TEST(Prediction, FollowsTheLinkThatItIsGiven) {
  for (const int ranks : {2, 3, 4}) {
    detail::run_threads_over_tcp(ranks, [](World& world) {
      const Link link{.alpha_s = 50e-6, .beta_s = 8 / 100e6, .source = "by hand"};
      predict_by(world, link);
      const double p = world.size();
      const double expected_ms = 1000 * ((p - 1) * link.alpha_s + (p - 1) / p * kBytes * link.beta_s);
      const OperationOptions ring{.algorithm = "ring"};
      EXPECT_NEAR(predicted_ms(world, Collective::kAllReduce, kBytes, ring).value(), 2 * expected_ms,
                  0.01 * expected_ms);
      EXPECT_NEAR(predicted_ms(world, Collective::kAllGather, kBytes, ring).value(), expected_ms, 0.01 * expected_ms);
      EXPECT_NEAR(predicted_ms(world, Collective::kReduceScatter, kBytes, ring).value(), expected_ms,
                  0.01 * expected_ms);
    });
  }
}

TEST(Prediction, OfALinkThatCannotBeIsRefused) {
  const World alone = World::alone();
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  for (const Link& link : {Link{.alpha_s = -1}, Link{.beta_s = -1e-9}, Link{.alpha_s = nothing},
                           Link{.beta_s = std::numeric_limits<double>::infinity()}}) {
    EXPECT_THAT([&] { predict_by(alone, link); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "cannot be; both are from 0 up"));
  }
  EXPECT_EQ(given_link(alone), std::nullopt);
}

TEST(Prediction, IsOfALoadedScheduleAtItsOwnRoot) {
  run_threads(2, [](World& world) {
    predict_by(world, {.alpha_s = 1e-5, .beta_s = 1e-9});
    const std::string name = world.load_schedule(
        "lockstep-schedule 1\nname mine\ncollective broadcast\nranks 2\nchunks 1\nroot 1\n"
        "step\ncopy 0 from 1 to 0\nend\n");
    EXPECT_NEAR(predicted_ms(world, Collective::kBroadcast, 1000, {.algorithm = name}).value(), 0.011, 1e-6);
    EXPECT_THROW(static_cast<void>(predicted_ms(world, Collective::kAllReduce, 1000, {.algorithm = name})), Error);
  });
}

TEST(Prediction, RefusesAnUnknownAlgorithm) {
  const World alone = World::alone();
  EXPECT_THROW(static_cast<void>(predicted_ms(alone, Collective::kAllReduce, kBytes, {.algorithm = "rinng"})), Error);
}

}  // namespace
}  // namespace lockstep
