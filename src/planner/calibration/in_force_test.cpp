#include "planner/calibration/in_force.h"

#include "base/atomic_file.h"
#include "planner/calibration/calibration.h"
#include "planner/calibration/predicted_selection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace lockstep {

/// With a cache of its own, so that what is calibrated on this machine does not matter.
/// As wrong as predictions may be that are followed.
constexpr HeldBack kTrusted{.sizes = {.median = 0.1, .worst = 0.2}, .ranks = {.median = 0.1, .worst = 0.2}};

class InForce : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(file().parent_path());
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.c_str(), 1), 0);
    ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
    ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
  }
  std::filesystem::path file() const { return folder_ / "lockstep" / "calibration.json"; }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("lockstep_in_force_test_" + std::to_string(::getpid()));
};

TEST_F(InForce, WithoutAnythingItIsBuiltIn) {
  const SelectionInForce found = selection_in_force(4);
  EXPECT_EQ(found.source, "built in");
  EXPECT_EQ(found.selection, built_in_selection(4));
}

TEST_F(InForce, ACacheThatCannotBeLookedIntoIsNone) {
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", ("/" + std::string(5000, 'x')).c_str(), 1), 0);  // too long to be looked up
  EXPECT_EQ(selection_in_force(4).source, "built in");
}

TEST_F(InForce, OfMoreRanksThanAreSelectedItIsBuiltIn) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  calibration.selections[4] = built_in_selection(4);
  write_file_atomically(file(), to_json(calibration));
  EXPECT_EQ(selection_in_force(8).source, "calibrated here");
  EXPECT_EQ(selection_in_force(2).source, "built in") << "none is stored for so few";
  EXPECT_EQ(selection_in_force(kMostSelectedRanks + 1).source, "built in");
}

TEST_F(InForce, TheEnvironmentOverridesWhatItNames) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: 0-64 tree, 64- ring", 1), 0);
  const SelectionInForce found = selection_in_force(4);
  EXPECT_EQ(found.source, "built in, then LOCKSTEP_ALGORITHMS");
  EXPECT_EQ(select(found.selection, Collective::kAllReduce, 63), "tree");
  EXPECT_EQ(select(found.selection, Collective::kAllReduce, 64), "ring");
  EXPECT_EQ(select(found.selection, Collective::kBroadcast, 64),
            select(built_in_selection(4), Collective::kBroadcast, 64));
  EXPECT_EQ(select(found.selection, Collective::kAllReduce, 64, MemoryKind::kPlain), "ring");
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: rign", 1), 0);
  EXPECT_THROW(selection_in_force(4), Error);
}

TEST_F(InForce, WhatWasMeasuredHereIsUsedHere) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  calibration.shm.seconds[HostCosts::kSwitch] = 1;  // only turns cost anything
  calibration.selections[4] = predicted_selection(calibration, 4);
  write_file_atomically(file(), to_json(calibration));
  const SelectionInForce found = selection_in_force(4);
  EXPECT_EQ(found.source, "calibrated here");
  EXPECT_EQ(selection_in_force(4, Medium::kTcp).selection, built_in_selection(4, Medium::kTcp))
      << "nothing was measured of that";
  Selection expected = predicted_selection(calibration, 4);
  expected.take_plain_from(built_in_selection(4));
  EXPECT_EQ(found.selection, expected);
  calibration.samples.push_back(
      {.collective = Collective::kAllReduce, .algorithm = "tree", .ranks = 4, .bytes = 4, .seconds = 1, .job = {}});
  write_file_atomically(file(), to_json(calibration));
  EXPECT_EQ(selection_in_force(4).source, "calibrated here; as measured here on 4 ranks: all_reduce");
  EXPECT_EQ(select(selection_in_force(4).selection, Collective::kAllReduce, 1 << 20), "tree");
  EXPECT_EQ(select(selection_in_force(4).selection, Collective::kAllReduce, 1 << 20, MemoryKind::kPlain), "direct")
      << "it is registered memory that is measured";
  EXPECT_EQ(selection_in_force(5).source, "calibrated here") << "with 5 nothing was measured";
  calibration.samples.clear();
  for (double* const median : {&calibration.held_back.ranks.median, &calibration.held_back.sizes.median}) {
    calibration.held_back = kTrusted;
    *median = 0.18;
    write_file_atomically(file(), to_json(calibration));
    EXPECT_EQ(selection_in_force(4).selection, built_in_selection(4));
    EXPECT_EQ(selection_in_force(4).source,
              "built in, since the calibration here is 18 % wrong in the median, more than 10 %");
  }
  calibration.held_back = kTrusted;
  calibration.machine.processor = "another";
  write_file_atomically(file(), to_json(calibration));
  EXPECT_EQ(selection_in_force(4).source,
            fmt::format("built in, since what is stored was measured on another machine (processor: another, here {}); "
                        "measure this one with `lockstep calibrate`.",
                        this_machine().processor));
}

/// Two or three ranks alone say nothing of how wrong predictions of others are.
TEST_F(InForce, OfRanksThatNothingToldOfItIsBuiltIn) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  calibration.held_back.ranks = {};
  for (const int ranks : {2, 4}) calibration.selections[ranks] = Selection::parse("reduce: tree", "a test");
  calibration.samples.push_back(
      {.collective = Collective::kAllReduce, .algorithm = "tree", .ranks = 2, .bytes = 4, .seconds = 1, .job = {}});
  write_file_atomically(file(), to_json(calibration));
  EXPECT_EQ(selection_in_force(2).source, "calibrated here; as measured here on 2 ranks: all_reduce");
  EXPECT_EQ(selection_in_force(4).selection, built_in_selection(4));
  EXPECT_EQ(selection_in_force(4).source,
            "built in, since the calibration here has not measured 4 ranks, nor held back others to tell how wrong it "
            "is of them; `lockstep calibrate -n 4` does.");
}

TEST_F(InForce, WhatWasMeasuredWithALittleMoreMemoryIsUsed) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  calibration.selections[4] = built_in_selection(4);
  calibration.machine.memory_bytes *= 1.02;
  write_file_atomically(file(), to_json(calibration));
  EXPECT_EQ(selection_in_force(4).source, "calibrated here");
  calibration.machine.memory_bytes *= 2;
  write_file_atomically(file(), to_json(calibration));
  EXPECT_THAT(selection_in_force(4).source, testing::HasSubstr("on another machine (memory: "));
}

TEST_F(InForce, WhatWasMeasuredOnMoreCoresIsNotUsed) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  calibration.machine.cores = 8;
  calibration.machine.threads = 16;
  calibration.selections[4] = Selection::parse("all_reduce: tree", "a test");
  calibration.samples.push_back(
      {.collective = Collective::kReduce, .algorithm = "tree", .ranks = 4, .bytes = 4, .seconds = 1, .job = {}});
  const auto followed = [&](int cores) {
    return selection_in_force(4, Medium::kSharedMemory, {}, {std::make_shared<const Calibration>(calibration), ""},
                              cores);
  };
  EXPECT_EQ(followed(16).source, "calibrated here; as measured here on 4 ranks: reduce");
  EXPECT_EQ(select(followed(16).selection, Collective::kAllReduce, 4), "tree") << "threads of hyperthreaded cores";
  EXPECT_EQ(followed(8).source,
            "built in, since what is stored was measured on 16 logical CPUs, of which ranks may use 8 now.")
      << "both of every second core";
  calibration.machine.threads = 8;
  EXPECT_EQ(followed(8).source, "calibrated here; as measured here on 4 ranks: reduce");
  EXPECT_EQ(followed(2).source,
            "built in, since what is stored was measured on 8 logical CPUs, of which ranks may use 2 now.");
  EXPECT_EQ(followed(2).selection, built_in_selection(4, Medium::kSharedMemory, {}, 2));
}

TEST_F(InForce, WhatWasMeasuredOnCoresOfTheirOwnIsNotUsedWhereOthersShareThem) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  calibration.machine.threads = 4;
  for (const int ranks : {4, 8}) calibration.selections[ranks] = Selection::parse("all_reduce: tree", "a test");
  const auto source = [&](int ranks, bool shared) {
    const JobCalibration job{std::make_shared<const Calibration>(calibration), ""};
    return selection_in_force(ranks, Medium::kSharedMemory, {}, job, {4, shared}).source;
  };
  EXPECT_EQ(source(4, false), "calibrated here");
  EXPECT_EQ(source(4, true),
            "built in, since what is stored was measured of 4 ranks that share no core, and here other groups' share "
            "theirs.");
  EXPECT_EQ(source(8, true), "calibrated here") << "they took turns when it was measured, too";
}

TEST_F(InForce, OverTcpWhatWasMeasuredOnThisHostIsUsedOnOneHost) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  calibration.tcp.samples.push_back(
      {.collective = Collective::kAllReduce, .algorithm = "tree", .ranks = 4, .bytes = 4, .seconds = 1, .job = {}});
  write_file_atomically(file(), to_json(calibration));
  const SelectionInForce found = selection_in_force(4, Medium::kTcp);
  EXPECT_EQ(found.source, "built in; as measured here on 4 ranks: all_reduce");
  EXPECT_EQ(select(found.selection, Collective::kAllReduce, 1 << 20), "tree");
  for (const auto& [ranks, medium, hosts] :
       {std::tuple{4, Medium::kSharedMemory, std::vector<int>{}}, std::tuple{4, Medium::kMpi, std::vector<int>{}},
        std::tuple{5, Medium::kTcp, std::vector<int>{}}, std::tuple{4, Medium::kTcp, std::vector<int>{0, 0, 1, 1}}}) {
    EXPECT_EQ(selection_in_force(ranks, medium, hosts).selection, built_in_selection(ranks, medium, hosts));
  }
}

TEST_F(InForce, WhatWasMeasuredOnPlainMemoryHoldsThereAndTheRestIsBuiltIn) {
  Calibration calibration{.machine = this_machine(), .shm = {}, .held_back = kTrusted, .samples = {}};
  for (const Collective collective : {Collective::kAllReduce, Collective::kBroadcast}) {
    calibration.samples.push_back(
        {.collective = collective, .algorithm = "tree", .ranks = 4, .bytes = 4, .seconds = 1, .job = {}});
  }
  calibration.samples.push_back(calibration.samples.front());
  calibration.samples.back().memory = MemoryKind::kPlain;
  calibration.samples.back().algorithm = "ring";
  write_file_atomically(file(), to_json(calibration));
  const Selection found = selection_in_force(4).selection;
  EXPECT_EQ(select(found, Collective::kAllReduce, 1 << 20), "tree");
  EXPECT_EQ(select(found, Collective::kAllReduce, 1 << 20, MemoryKind::kPlain), "ring");
  EXPECT_EQ(select(found, Collective::kBroadcast, 1 << 20), "tree");
  EXPECT_EQ(select(found, Collective::kBroadcast, 1 << 20, MemoryKind::kPlain),
            select(built_in_selection(4), Collective::kBroadcast, 1 << 20, MemoryKind::kPlain));
}

TEST_F(InForce, ACalibrationThatCannotBeReadIsNamedAndNotUsed) {
  write_file_atomically(file(), "{}");
  const SelectionInForce found = selection_in_force(4);
  EXPECT_EQ(found.selection, built_in_selection(4));
  EXPECT_THAT(found.source, testing::StartsWith("built in, since " + file().string() + " is no calibration ("));
  std::filesystem::resize_file(file(), std::uintmax_t{1} << 40);
  EXPECT_EQ(selection_in_force(4).source, "built in, since " + file().string() +
                                              " is longer than 64 MiB, which no calibration is; remove it, and measure "
                                              "with `lockstep calibrate`.");
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_EQ(selection_in_force(4).source, "built in, since " + file().string() +
                                              " is no file, and no calibration; remove it, and measure with "
                                              "`lockstep calibrate`.");
}

}  // namespace lockstep
