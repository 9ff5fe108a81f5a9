// What World::from_env does beside a rank that joins and then says nothing, and alone.
#include <lockstep/world.h>

#include "transport/shm/join.h"
#include "transport/shm/shm_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

/// Variables of the environment, as long as it lives.
class Variables {
 public:
  explicit Variables(std::vector<std::pair<std::string, std::string>> variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> variables_;
};

/// Of rank 0 of two, in shared memory.
Variables rank_0_of(const std::string& job, const std::string& join_timeout) {
  return Variables({{"RANK", "0"},
                    {"WORLD_SIZE", "2"},
                    {"LOCAL_RANK", "0"},
                    {"LOCAL_WORLD_SIZE", "2"},
                    {"LOCKSTEP_JOB", job},
                    {"LOCKSTEP_TRANSPORT", "shm"},
                    {"LOCKSTEP_JOIN_TIMEOUT", join_timeout}});
}

TEST(World, TheTimeToJoinIsOneTimeForAllOfIt) {
  const std::string job = "world-test-" + std::to_string(::getpid());
  const Variables variables = rank_0_of(job, "3s");
  std::promise<void> over;
  std::jthread silent([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const shm::Host host = shm::join_processes({.job = job, .rank = 1, .size = 2});
    over.get_future().wait();
  });
  try {
    World::from_env();
    ADD_FAILURE() << "it did not wait for the other rank";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kTimeout) << said;
    std::smatch waited;
    if (std::regex_search(said, waited, std::regex("waited ([0-9.]+) s for rank 1"))) {
      EXPECT_LT(std::stod(waited[1]), 3) << "which is not what was left of 3 s after a while of joining";
    } else {
      ADD_FAILURE() << said;
    }
  }
  over.set_value();
}

/// It does not seem to have left.
TEST(World, WhoFailsOnceAllHaveJoinedTellsTheOthersWhy) {
  const std::string job = "world-test-fails-" + std::to_string(::getpid());
  const Variables variables = rank_0_of(job, "1s");
  std::future<std::string> heard = std::async(std::launch::async, [&]() -> std::string {
    const auto transport = shm::create(shm::join_processes({.job = job, .rank = 1, .size = 2}));
    try {
      while (true) {
        transport->look_around();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (const Error& error) {
      return error.what();
    }
  });
  EXPECT_THAT([] { World::from_env(); }, testing::ThrowsMessage<Error>(testing::HasSubstr("s for rank 1")));
  EXPECT_THAT(heard.get(), testing::HasSubstr("s for rank 1"));
}

TEST(World, OfOneRefusesATransportThatIsNone) {
  const Variables variables({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCKSTEP_TRANSPORT", "pigeon"}});
  EXPECT_THAT([] { World::from_env(); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("LOCKSTEP_TRANSPORT is 'pigeon'; it takes auto")));
}

TEST(World, OfOneNeedsNoneOfThem) {
  for (const char* transport : {"auto", "shm", "tcp", "mpi"}) {
    const Variables variables({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCKSTEP_TRANSPORT", transport}});
    EXPECT_EQ(World::from_env().size(), 1) << transport;
  }
}

}  // namespace
}  // namespace lockstep
