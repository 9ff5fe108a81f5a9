#include "group/placement.h"

#include "group/thread_world.h"
#include "transport/tcp/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <string>
#include <thread>

namespace lockstep::detail {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::unique_ptr<Engine>> engines(int ranks) {
  std::vector<std::unique_ptr<Engine>> result;
  for (tcp::Host& host : tcp::thread_hosts(ranks)) result.push_back(make_engine(tcp::create(std::move(host))));
  return result;
}

/// What each rank hears, or the error that it is told; `hosts` are the ranks' own, a null pointer's never speaks.
std::vector<std::string> heard(const std::vector<const char*>& hosts) {
  std::vector<std::unique_ptr<Engine>> all = engines(static_cast<int>(hosts.size()));
  std::vector<std::string> heard(hosts.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] == nullptr) continue;
    threads.emplace_back([&, rank] {
      try {
        heard[rank] = testing::PrintToString(
            tell_whereabouts(*all[rank], {.host = hosts[rank]}, std::chrono::milliseconds(200)).placement);
      } catch (const Error& error) {
        heard[rank] = error.what();
      }
    });
  }
  threads.clear();
  return heard;
}

}  // namespace

TEST(Placement, NumbersHostsAsTheyAppear) {
  EXPECT_THAT(heard({"b", "a", "b", "c", "a"}), testing::Each("{ 0, 1, 0, 2, 1 }"));
  EXPECT_THAT(heard({"same", "same"}), testing::Each("{}")) << "one host needs no numbers";
}

TEST(Placement, TellsWhetherRanksFollowTheSameCalibration) {
  for (const std::uint64_t of_last : {7, 8}) {
    std::vector<std::unique_ptr<Engine>> all = engines(3);
    std::vector<int> same(3);
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        threads.emplace_back([&, rank] {
          const Whereabouts own{.host = "here", .calibration = rank == 2 ? of_last : 7};
          same[rank] = tell_whereabouts(*all[rank], own, std::chrono::seconds(30)).same_calibration ? 1 : 0;
        });
      }
    }
    EXPECT_THAT(same, testing::Each(of_last == 7 ? 1 : 0));
  }
}

TEST(Placement, ARankThatSaysNothingIsNamed) {
  const std::vector<std::string> told = heard({"a", "a", nullptr});
  EXPECT_THAT(told[0], AllOf(HasSubstr("rank 2"), HasSubstr("to learn which ranks share a host")));
  EXPECT_THAT(told[1], HasSubstr("waited 0.2 s for rank 0"));
}

TEST(Placement, OfMembersIsNumberedAnew) {
  const Placement whole{0, 0, 1, 1, 2};
  EXPECT_THAT(placement_of(whole, {4, 2, 3, 1}), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(placement_of(whole, {2, 3}), IsEmpty()) << "they share a host";
  EXPECT_THAT(placement_of({}, {0, 1}), IsEmpty());
}

}  // namespace lockstep::detail
