#include "group/schedules.h"

#include "base/collective.h"
#include "base/digest.h"
#include "base/environment.h"
#include "planner/pricing/price.h"
#include "schedule/proof.h"
#include "schedule/relabelled.h"
#include "schedule/text.h"
#include "topology/cpu_quota.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace lockstep::detail {

namespace {

/// In the names of loaded schedules, and in no algorithm's.
constexpr char kBeforeDigest = '#';

/// What "auto" is, the same on all ranks of the group.
Selection agreed_selection(const Identity& identity, Medium medium, const JobCalibration& calibration) {
  // In a world of one nothing is chosen; but what is set wrongly should not wait for the world of many to be found.
  if (identity.size == 1) {
    if (const auto text = environment(kAlgorithmsVariable)) Selection::parse(*text, kAlgorithmsVariable);
    return built_in_selection(1);
  }
  const bool is_on_one_host = ranks_of_hosts(identity.hosts).size() < 2;  // between hosts cores do not count
  const auto in_force = [&](const JobCalibration& followed, int cores) {
    const GroupCores own = is_on_one_host ? cores_of_group(identity.here, cores) : cores;
    return selection_in_force(identity.size, medium, identity.hosts, followed, own).selection;
  };
  if (identity.cores.empty()) return in_force(calibration, job_cpus());
  // A calibration tells of the cores that one of the ranks has, and here others have fewer or more.
  return in_force({}, *std::min_element(identity.cores.begin(), identity.cores.end()));
}

/// "broadcast at root 1", "all_reduce".
std::string purpose_of_schedule(Collective collective, int root) {
  const std::string_view name = to_string(collective);
  return has_root(collective) ? fmt::format("{} at root {}", name, root) : std::string(name);
}

}  // namespace

Schedules::Schedules(const Identity& identity, Medium medium, const JobCalibration& calibration)
    : ranks_(identity.size), hosts_(identity.hosts), selection_(agreed_selection(identity, medium, calibration)) {
  if (medium != Medium::kSharedMemory) only_rank_ = identity.rank;
}

int Schedules::number_of(std::string_view asked) {
  const bool is_as_before = last_asked_ < asked_.size() && asked_[last_asked_] == asked;  // as most calls
  if (!is_as_before) {
    const auto found = std::find(asked_.begin(), asked_.end(), asked);
    last_asked_ = static_cast<std::size_t>(found - asked_.begin());
    if (found == asked_.end()) asked_.emplace_back(asked);
  }
  return static_cast<int>(last_asked_);
}

std::string Schedules::load(const std::string& text) {
  Schedule schedule = parse_schedule(text, "the schedule's text");
  require_proved(schedule);
  if (schedule.ranks != ranks_) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("The schedule '{}' is for {} ranks; this group has {}.",
                                                         schedule.name, schedule.ranks, ranks_));
  }
  // Ranks that loaded different texts must not take them for the same.
  schedule.name = fmt::format("{}{}{:08x}", schedule.name.substr(0, 24), kBeforeDigest, digest_of(text) & 0xffffffffU);
  std::string name = schedule.name;
  loaded_.insert_or_assign(name, std::move(schedule));
  return name;
}

std::string Schedules::resolve(std::string_view asked, Collective collective, std::size_t bytes,
                               MemoryKind memory) const {
  if (loaded_.find(asked) != loaded_.end()) return std::string(asked);
  std::string name = asked == "auto" ? automatic(collective, bytes, memory) : std::string(asked);
  if (name == kVendor && ranks_ == 1) name = select(built_in_selection(ranks_), collective, bytes);
  if (name.find(kBeforeDigest) != std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("This group has loaded no schedule '{}'; each group loads its own.", name));
  }
  return name == kVendor ? name : find_algorithm(name).name;
}

std::string Schedules::automatic(Collective collective, std::size_t bytes, MemoryKind memory) const {
  std::string wanted = environment(kAlgorithmVariable).value_or("auto");
  // What one algorithm cannot do, a program does nevertheless: its broadcasts, and what split() gathers.
  if (wanted == kVendor || (wanted != "auto" && find_algorithm(wanted, kAlgorithmVariable).supports(collective)))
    return wanted;
  return select(selection_, collective, bytes, memory);
}

const Schedule* Schedules::find_loaded(const std::string& name, Collective collective, int root) const {
  const auto found = loaded_.find(name);
  if (found == loaded_.end()) return nullptr;
  const Schedule& loaded = found->second;
  if (loaded.collective == collective && loaded.root == root) return &loaded;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The schedule '{}' is for {}, not for {}.", name,
                          purpose_of_schedule(loaded.collective, loaded.root), purpose_of_schedule(collective, root)));
}

void Schedules::require_support(std::string_view name, Collective collective) const {
  if (name == kVendor) return;
  const auto found = loaded_.find(name);
  if (found == loaded_.end()) return find_algorithm(name).require_support(collective);
  const Collective loaded = found->second.collective;
  if (loaded == collective) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The schedule '{}' is for {}, not for {}.", name, to_string(loaded), to_string(collective)));
}

int Schedules::root_of(std::string_view name) const {
  const auto found = loaded_.find(name);
  return found == loaded_.end() ? 0 : found->second.root;
}

ScheduleRequest Schedules::request_for(Collective collective, int root) const {
  return {.collective = collective, .ranks = ranks_, .root = root, .hosts = hosts_};
}

const Schedule& Schedules::get(const std::string& name, Collective collective, int root) {
  if (const Schedule* const loaded = find_loaded(name, collective, root)) return *loaded;
  const std::tuple key{name, collective, root};
  if (const auto built = built_.find(key); built != built_.end()) return built->second;
  ScheduleRequest request = request_for(collective, root);
  request.only_rank = only_rank_;
  return built_.emplace(key, find_algorithm(name).build(request)).first->second;
}

Schedule Schedules::whole(const std::string& name, Collective collective, int root) const {
  if (const Schedule* const loaded = find_loaded(name, collective, root)) return *loaded;
  return find_algorithm(name).build(request_for(collective, root));
}

std::optional<Schedule> Schedules::whole_of_at_most(std::int64_t most, const std::string& name, Collective collective,
                                                    int root) const {
  constexpr double kFarMore = 2;  // an estimate is wrong by a few percent
  const bool is_loaded = loaded_.find(name) != loaded_.end();
  if (!is_loaded && estimated_transfers(name, request_for(collective, root)) > kFarMore * static_cast<double>(most)) {
    return std::nullopt;
  }
  Schedule schedule = whole(name, collective, root);
  return transfers_of(schedule) <= most ? std::optional(std::move(schedule)) : std::nullopt;
}

}  // namespace lockstep::detail
