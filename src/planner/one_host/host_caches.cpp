#include "planner/one_host/host_caches.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

namespace {

/// Of a processor that does not say how large its first cache is.
constexpr double kUsualFirst = 48 << 10;
/// What another core wrote just now is still in its first cache, or on its way from there.
constexpr double kWrittenFrom = 40 << 10;
constexpr double kWrittenTo = 96 << 10;
/// What a core has translations for, of pages of 4 KiB: 2,048 (Intel's) to 3,584 of them (AMD's). Huge pages reach as
/// far where a host makes them of small ones.
constexpr double kReachedFrom = 8 << 20;
constexpr double kReachedTo = 16 << 20;

double first_cache(const Machine& machine) {
  return machine.cache_bytes_first > 0 ? machine.cache_bytes_first : kUsualFirst;
}

/// From 0 to 1 between two logarithms.
double ramp(double at, double from, double to) { return std::clamp((at - from) / (to - from), 0.0, 1.0); }

double logarithm(double bytes) { return std::log(std::max(1.0, bytes)); }

/// Whether a pass puts one operand somewhere else, as it is.
bool is_copied(const std::vector<HostCaches::Access>& accesses) {
  const auto reads = [](const HostCaches::Access& access) { return access.reads; };
  const auto both = [](const HostCaches::Access& access) { return access.reads && access.writes; };
  return std::count_if(accesses.begin(), accesses.end(), reads) == 1 &&
         std::none_of(accesses.begin(), accesses.end(), both);
}

}  // namespace

HostCaches::HostCaches(const Machine& machine, int cores, std::size_t blocks, double block_bytes)
    : block_bytes_(block_bytes),
      own_bytes_(std::max(4 * first_cache(machine), machine.cache_bytes_a_core)),
      least_shared_(std::max(2 * own_bytes_, machine.cache_bytes_shared / 8)),
      blocks_(blocks),
      held_(static_cast<std::size_t>(cores) * blocks, kNotHeld),
      cores_(static_cast<std::size_t>(cores), ReuseDistance(blocks)),
      all_(blocks) {
  const double first = first_cache(machine);
  const double own = own_bytes_;
  const double shared = least_shared_;
  // A ramp begins where some of a working set is lost. How steeply each cache is lost, prices tell: of a shared one
  // other machines on the host have their part, and it keeps some of what is larger.
  const std::array<double, HostCosts::kLevels> from{first * 2 / 3, own / 2,    own * 3 / 4, own,        own * 3 / 2,
                                                    shared,        2 * shared, 4 * shared,  8 * shared, 16 * shared};
  const std::array<double, HostCosts::kLevels> to{2 * first,  own * 3 / 4, own,        own * 3 / 2, 2 * own,
                                                  2 * shared, 4 * shared,  8 * shared, 16 * shared, 32 * shared};
  for (std::size_t level = 0; level < HostCosts::kLevels; ++level) {
    rises_from_[level] = std::log(from[level]);
    rises_to_[level] = std::log(to[level]);
  }
}

void HostCaches::pass(int core, const std::vector<Access>& accesses, HostCosts& costs) {
  for (const Access& access : accesses) {
    if (access.writes && !access.reads && access.past_caches) {
      costs[HostCosts::kStreamedByte] += block_bytes_;
    } else {
      bring(core, access.block, costs);
    }
  }
  const bool is_copy = is_copied(accesses);
  for (const Access& access : accesses) {
    if (access.writes) {
      if (!access.past_caches) take_back(core, access.block, is_copy, costs);
      write(core, access.block, access.past_caches);
    } else {
      held(core, access.block) = blocks_[access.block].version;
      touch(core, access.block);
    }
  }
}

void HostCaches::bring(int core, std::size_t block, HostCosts& costs) {
  const auto [version, writer] = blocks_[block];
  const bool is_own = held(core, block) == version || writer == core || writer == kMemory;
  const auto& touched_by = cores_[static_cast<std::size_t>(is_own ? core : writer)];
  const double distance = block_bytes_ * touched_by.of(block);
  if (is_own) return add_own(block, distance, 1, costs);
  // What the writer's own cache no longer holds comes from where everybody's data is.
  const double at = logarithm(distance);
  const double lost = ramp(at, std::log(own_bytes_ / 2), std::log(own_bytes_));
  costs[HostCosts::kFetchedByte] += block_bytes_ * (1 - lost);
  costs[HostCosts::kJustWrittenByte] += block_bytes_ * (1 - ramp(at, std::log(kWrittenFrom), std::log(kWrittenTo)));
  if (lost > 0) add_own(block, distance, lost, costs);
}

/// What one core wrote and another has read since is not to be written again before the other's copy is gone. Who reads
/// and then writes itself was given it as its own.
void HostCaches::take_back(int core, std::size_t block, bool is_copy, HostCosts& costs) {
  const auto [version, writer] = blocks_[block];
  double nearest = ReuseDistance::kNever;
  for (int other = 0; other < static_cast<int>(cores_.size()); ++other) {
    if (other == core || other == writer || held(other, block) != version) continue;
    nearest = std::min(nearest, block_bytes_ * cores_[static_cast<std::size_t>(other)].of(block));
  }
  const double at = logarithm(nearest);
  const double in_shared = 1 - ramp(at, std::log(4 * least_shared_), std::log(8 * least_shared_));
  const double in_own = 1 - ramp(at, std::log(own_bytes_), std::log(2 * own_bytes_));
  costs[is_copy ? HostCosts::kSharedCopyByte : HostCosts::kSharedWriteByte] += block_bytes_ * in_shared;
  costs[is_copy ? HostCosts::kSharedCopyOwnByte : HostCosts::kSharedWriteOwnByte] += block_bytes_ * in_own;
}

void HostCaches::add_own(std::size_t block, double distance_bytes, double share, HostCosts& costs) const {
  constexpr std::size_t kFirstShared = HostCosts::kMemoryByte - HostCosts::kFirstLevel;
  double at = logarithm(distance_bytes);
  if (std::isfinite(
          distance_bytes)) {  // else another took it away: of when its page was touched last, nothing is known
    costs[HostCosts::kTranslatedByte] += share * block_bytes_ * ramp(at, std::log(kReachedFrom), std::log(kReachedTo));
  }
  for (std::size_t level = 0; level < HostCosts::kLevels; ++level) {
    if (level == kFirstShared) at = logarithm(block_bytes_ * all_.of(block));
    const double beyond = ramp(at, rises_from_[level], rises_to_[level]);
    if (beyond == 0) return;
    costs[HostCosts::kFirstLevel + level] += share * beyond * block_bytes_;
  }
}

void HostCaches::touch(int core, std::size_t block) {
  cores_[static_cast<std::size_t>(core)].touch(block);
  all_.touch(block);
}

void HostCaches::write(int core, std::size_t block, bool past_caches) {
  Block& written = blocks_[block];
  ++written.version;
  written.writer = past_caches ? kMemory : static_cast<std::int16_t>(core);
  for (std::size_t other = 0; other < cores_.size(); ++other) {
    if (past_caches || other != static_cast<std::size_t>(core)) cores_[other].drop(block);
  }
  if (past_caches) return all_.drop(block);
  held(core, block) = written.version;
  touch(core, block);
}

}  // namespace lockstep
