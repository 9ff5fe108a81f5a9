#include "group/stored_calibration_for_tests.h"
#include "group/thread_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/link.h>

#include <cstdlib>
#include <vector>

namespace lockstep {
namespace {

constexpr std::string_view kFourHosts = R"(
name = "slow"
[[host]]
count = 4
ranks = 1
nic = { bandwidth = "100Mbit/s", message = "50us" }
)";

TEST(Link, OfATopologyIsItsCards) {
  for (const int ranks : {2, 4}) {
    const Link link = link_of_topology(kFourHosts, "slow.toml", ranks);
    EXPECT_NEAR(link.alpha_s, 50e-6, 5e-6) << ranks;
    EXPECT_NEAR(link.beta_s, 8 / 100e6, 1e-9) << ranks;
    EXPECT_EQ(link.source, "slow.toml");
  }
  EXPECT_EQ(link_of_topology(kFourHosts, "slow.toml", 1).beta_s, 0);
}

TEST(Link, OfATopologyThatIsNoneIsAnError) {
  EXPECT_THAT([] { link_of_topology("name = 3", "bad.toml", 2); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("bad.toml")));
  EXPECT_THAT([] { link_of_topology(kFourHosts, "slow.toml", 5); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("has 4 ranks")));
}

/// A network without a price costs something all the same.
TEST(Link, OfATopologyWithTooManyRanksToSimulateIsAnError) {
  EXPECT_THAT([] { link_of_topology("[[host]]\ncount = 4096\n", "large.toml", 4096); },
              testing::ThrowsMessage<Error>(testing::AllOf(
                  testing::StartsWith("large.toml: what a link between 4096 ranks costs there is not known"),
                  testing::HasSubstr("ask for fewer ranks, or measure it"))));
}

TEST(Link, MeasuredIsTheSameOnAllRanks) {
  std::vector<Link> links(3);
  const auto measure = [&](World& world) { links[static_cast<std::size_t>(world.rank())] = measured_link(world); };
  detail::run_threads_over_tcp(3, measure);
  const Link over_tcp = links[0];
  EXPECT_GT(over_tcp.beta_s, 0);
  for (const Link& link : links) {
    EXPECT_EQ(link.alpha_s, over_tcp.alpha_s);
    EXPECT_EQ(link.beta_s, over_tcp.beta_s);
  }
  run_threads(3, measure);
  EXPECT_EQ(links[1].alpha_s, links[0].alpha_s);
  EXPECT_EQ(links[2].beta_s, links[0].beta_s);
  EXPECT_EQ(measured_link(World::alone()).beta_s, 0);
}

TEST(Link, CalibratedFollowsWhatIsStored) {
  const auto beta_at = [](double seconds_a_byte) {
    const StoredCalibration stored(seconds_a_byte);
    const auto link = calibrated_link(2);
    EXPECT_TRUE(link.has_value());
    EXPECT_EQ(link->source, "calibrated here");
    return link->beta_s;
  };
  const double beta = beta_at(1e-10);
  EXPECT_GT(beta, 1e-10);
  EXPECT_NEAR(beta_at(4e-10) / beta, 4, 0.1);
  const StoredCalibration stored(1e-10);
  EXPECT_FALSE(calibrated_link(17).has_value()) << "of more ranks than a calibration speaks of";
  ::setenv("XDG_CACHE_HOME", "/nonexistent", 1);
  EXPECT_FALSE(calibrated_link(2).has_value());
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace lockstep
