#include "tests/conformance/worlds.h"

#include "group/placement.h"
#include "group/thread_world.h"
#include "tests/conformance/forked_ranks.h"
#include "transport/shm/thread_host.h"
#include "transport/tcp/hmac.h"
#include "transport/tcp/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <ostream>
#include <thread>
#include <utility>

namespace lockstep::conformance {

namespace {

using Engines = std::vector<std::unique_ptr<detail::Engine>>;

Engines engines_of_threads(Medium medium, int ranks) {
  Engines engines;
  if (medium == Medium::kSharedMemory) {
    for (shm::Host& host : shm::thread_hosts(ranks))
      engines.push_back(detail::make_engine(shm::create(std::move(host))));
  } else {
    for (tcp::Host& host : tcp::thread_hosts(ranks))
      engines.push_back(detail::make_engine(tcp::create(std::move(host))));
  }
  return engines;
}

}  // namespace

std::vector<Setting> every_setting() {
  std::vector<Setting> settings;
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    for (const Home home : {Home::kThreads, Home::kProcesses}) {
      for (const int ranks : {1, 2, 3, 4, 5, 8}) settings.push_back({medium, home, ranks});
    }
  }
  return settings;
}

std::vector<Setting> every_setting_on_hosts() {
  std::vector<Setting> settings;
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    for (const Home home : {Home::kThreads, Home::kProcesses}) {
      for (const std::vector<int>& hosts : std::vector<std::vector<int>>{
               {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}, {0, 1, 0, 2, 1, 0}, {0, 1, 2}, {0, 0, 0}}) {
        settings.push_back({medium, home, static_cast<int>(hosts.size()), hosts});
      }
    }
  }
  return settings;
}

std::string name_of(const Setting& setting) {
  std::string name = std::string(setting.medium == Medium::kSharedMemory ? "shm" : "tcp") +
                     (setting.home == Home::kThreads ? "_threads_" : "_processes_") + std::to_string(setting.ranks);
  if (!setting.hosts.empty()) name += "_on";
  for (const int host : setting.hosts) name += "_" + std::to_string(host);
  return name;
}

std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << name_of(setting); }

std::string why_not(const Setting& setting) {
  const bool needs_hmac = setting.medium == Medium::kTcp && setting.home == Home::kProcesses;
  return needs_hmac && !tcp::hmac_is_built_in() ? "built without OpenSSL" : "";
}

int run_rank(std::unique_ptr<detail::Engine> engine, const std::function<void(Member&)>& body,
             const std::vector<int>& hosts) {
  Identity identity{.rank = engine->rank(), .size = engine->size(), .job = {}};
  identity.local_rank = identity.rank;
  identity.local_size = identity.size;
  if (!hosts.empty()) {
    const std::string host = "host" + std::to_string(hosts[static_cast<std::size_t>(identity.rank)]);
    identity.hosts = detail::tell_whereabouts(*engine, {.host = host}, std::chrono::seconds(30)).placement;
  }
  const auto state = std::make_shared<detail::GroupState>(identity, std::move(engine));
  World world = detail::WorldMaker::make(state);
  Member member{world, *state};
  try {
    body(member);
    return testing::Test::HasFailure() ? 1 : 0;
  } catch (const std::exception& error) {
    // A peer that left is another rank's failure, told there; run_world() sees the code where it is nobody's.
    const auto* const known = dynamic_cast<const Error*>(&error);
    if (known == nullptr || known->code() != ErrorCode::kPeerLeft) {
      ADD_FAILURE() << "rank " << identity.rank << ": " << error.what();
    }
    state->abandon(error.what());
    return 1;
  }
}

namespace {

/// What run_rank gave on each rank.
std::vector<int> codes_of_threads(const Setting& setting, const std::function<void(Member&)>& body) {
  std::vector<int> codes(static_cast<std::size_t>(setting.ranks), -1);
  {
    std::vector<std::jthread> threads;
    for (auto& engine : engines_of_threads(setting.medium, setting.ranks)) {
      int& code = codes[threads.size()];
      threads.emplace_back(
          [&, own = std::move(engine)]() mutable { code = run_rank(std::move(own), body, setting.hosts); });
    }
  }
  return codes;
}

std::vector<int> codes_of_processes(const Setting& setting, const std::function<void(Member&)>& body) {
  const Meeting meeting(setting.medium, setting.ranks);
  ForkedRanks ranks(setting.ranks, [&](int rank) { return run_rank(meeting.engine(rank), body, setting.hosts); });
  std::vector<int> codes;
  for (int rank = 0; rank < setting.ranks; ++rank) codes.push_back(ranks.wait(rank));
  return codes;
}

}  // namespace

void run_world(const Setting& setting, const std::function<void(Member&)>& body) {
  const std::vector<int> codes =
      setting.home == Home::kThreads ? codes_of_threads(setting, body) : codes_of_processes(setting, body);
  EXPECT_THAT(codes, testing::Each(0)) << "by rank: 1 of one that failed, or that a peer left though none failed";
}

}  // namespace lockstep::conformance
