#pragma once

#include "group/engine.h"
#include "group/group_state.h"

#include <lockstep/world.h>

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::conformance {

enum class Medium : std::uint8_t { kSharedMemory, kTcp };
enum class Home : std::uint8_t { kThreads, kProcesses };

/// One kind of world that the suite runs on.
struct Setting {
  Medium medium;
  Home home;
  int ranks;
  std::vector<int> hosts = {};  ///< that the ranks pretend to be on; empty: they tell nobody, and share one
};

/// Every medium, home and number of ranks that the suite knows.
std::vector<Setting> every_setting();
/// Every medium and home with ranks on hosts: alike, apart in rank, uneven (3 and 1), three of different sizes, one
/// rank a host, and all on one.
std::vector<Setting> every_setting_on_hosts();
/// "shm_threads_3"
std::string name_of(const Setting& setting);
std::ostream& operator<<(std::ostream& out, const Setting& setting);
/// Why worlds of this kind cannot be made by this build; empty where they can.
std::string why_not(const Setting& setting);

/// What one rank of a world works with.
struct Member {
  World& world;
  detail::GroupState& state;
};

/// Runs `body` on every rank of a new world, in threads of this process or in processes forked from it, and returns
/// when all have ended. What a rank throws is a failure of the test, told once for each rank.
void run_world(const Setting& setting, const std::function<void(Member&)>& body);

/// The same of one rank, over an engine that is its own: 0, or 1 if the test has failed here.
int run_rank(std::unique_ptr<detail::Engine> engine, const std::function<void(Member&)>& body,
             const std::vector<int>& hosts = {});

}  // namespace lockstep::conformance
