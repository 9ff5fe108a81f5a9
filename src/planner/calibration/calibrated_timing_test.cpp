#include "planner/calibration/calibrated_timing.h"

#include "algorithms/catalog.h"
#include "planner/one_host/machine_for_tests.h"
#include "planner/one_host/tcp_model_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <vector>

namespace lockstep {

namespace {

/// Which predicts half of what was measured, over shared memory as over TCP.
std::vector<Sample> twice() {
  return {{.algorithm = "ring", .ranks = 2, .bytes = 1 << 20, .seconds = 2, .predicted_s = 1}};
}

Calibration calibration() {
  Calibration made{.machine = machine_for_tests()};
  made.shm.seconds[HostCosts::kOperation] = 1e-6;
  made.shm.seconds[HostCosts::kByte] = 1e-10;
  made.tcp.model = tcp_model_for_tests(2);
  return made;
}

Schedule ring() { return find_algorithm("ring").build({.ranks = 2}); }

}  // namespace

TEST(CalibratedTiming, IsWhatTheModelSaysTimesWhatItWasWrongBy) {
  Calibration known = calibration();
  const double in_memory = known.shm.predict(HostJob(ring()), {1 << 20}, known.machine);
  const double over_tcp = known.tcp.model.predict(TcpJob(ring()), 1 << 20);
  EXPECT_EQ(CalibratedTiming(known, Medium::kSharedMemory, ring()).seconds({1 << 20}), in_memory);
  EXPECT_EQ(CalibratedTiming(known, Medium::kTcp, ring()).seconds({1 << 20}), over_tcp);
  known.samples = twice();
  EXPECT_DOUBLE_EQ(CalibratedTiming(known, Medium::kSharedMemory, ring()).seconds({1 << 20}), 2 * in_memory);
  EXPECT_EQ(CalibratedTiming(known, Medium::kTcp, ring()).seconds({1 << 20}), over_tcp) << "another medium's error";
  known.tcp.samples = twice();
  EXPECT_DOUBLE_EQ(CalibratedTiming(known, Medium::kTcp, ring()).seconds({1 << 20}), 2 * over_tcp);
}

TEST(CalibratedTiming, InATrainingTheModelIsAlone) {
  Calibration known = calibration();
  const HostOperation cold{.bytes = 1 << 20, .touched_between = 1 << 24};
  const double alone = known.shm.predict(HostJob(ring()), cold, known.machine);
  known.samples = twice();
  EXPECT_EQ(CalibratedTiming(known, Medium::kSharedMemory, ring()).seconds(cold), alone);
}

TEST(CalibratedTiming, OverMpiThereIsNone) {
  EXPECT_THROW(CalibratedTiming(calibration(), Medium::kMpi, ring()), Error);
}

}  // namespace lockstep
