#include "lab/together.h"

#include <gtest/gtest.h>
#include <lockstep/world.h>

#include <array>
#include <string>

namespace lockstep::lab {

namespace {

/// What each of 3 ranks ends with when `failing` ranks throw.
std::array<std::string, 3> outcome(const std::function<bool(int)>& failing) {
  std::array<std::string, 3> ends;
  run_threads(3, [&](World& world) {
    const int rank = world.rank();
    try {
      together(world, [&] {
        if (failing(rank)) throw Error(ErrorCode::kInvalidArgument, "rank " + std::to_string(rank) + " has no file");
      });
      ends.at(static_cast<std::size_t>(rank)) = "well";
    } catch (const FailedElsewhere& error) {
      ends.at(static_cast<std::size_t>(rank)) = "elsewhere " + std::to_string(error.exit_code());
    } catch (const Error& error) {
      ends.at(static_cast<std::size_t>(rank)) = error.what();
    }
  });
  return ends;
}

using Ends = std::array<std::string, 3>;

}  // namespace

TEST(Together, GoesOnIfAllAreWell) {
  EXPECT_EQ(outcome([](int) { return false; }), (Ends{"well", "well", "well"}));
}

TEST(Together, TheLowestThatFailedSaysWhy) {
  EXPECT_EQ(outcome([](int rank) { return rank > 0; }), (Ends{"elsewhere 2", "rank 1 has no file", "elsewhere 2"}));
  EXPECT_EQ(outcome([](int) { return true; }), (Ends{"rank 0 has no file", "elsewhere 2", "elsewhere 2"}));
}

TEST(Together, ExitCodesTellWrongInputFromFailure) {
  EXPECT_EQ(exit_code_of(Error(ErrorCode::kInvalidArgument, "")), 2);
  EXPECT_EQ(exit_code_of(Error(ErrorCode::kIo, "")), 1);
  EXPECT_EQ(exit_code_of(FailedElsewhere(2)), 2);
  EXPECT_EQ(exit_code_of(std::runtime_error("")), 1);
}

}  // namespace lockstep::lab
