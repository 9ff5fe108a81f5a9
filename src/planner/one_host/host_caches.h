#pragma once

#include "planner/one_host/host_costs.h"
#include "planner/one_host/machine.h"
#include "planner/one_host/reuse_distance.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// Which core's caches hold what, and how deep: many may hold what is read, one what it wrote last. Buffers are cut
/// into blocks of equal size.
class HostCaches {
 public:
  /// What a pass does with a block, all at once: what it reads and writes is brought once.
  struct Access {
    std::size_t block;
    bool reads = false;
    bool writes = false;
    bool past_caches = false;  ///< what it writes goes to memory at once
  };

  HostCaches(const Machine& machine, int cores, std::size_t blocks, double block_bytes);

  /// The core that a block belongs to until somebody writes it.
  void give(std::size_t block, int core) { blocks_[block].writer = static_cast<std::int16_t>(core); }
  /// A core has touched so much else, which it will not touch again.
  void touch_others(int core, double bytes) {
    cores_[static_cast<std::size_t>(core)].touch_others(bytes / block_bytes_);
    all_.touch_others(bytes / block_bytes_);
  }
  /// Whether a core that reads a block has to wait for memory, since it was written past the caches.
  bool waits_for_memory(int core, std::size_t block) const {
    return blocks_[block].writer == kMemory && held_[place(core, block)] != blocks_[block].version;
  }
  /// A pass of `core` over blocks; adds what it costs.
  void pass(int core, const std::vector<Access>& accesses, HostCosts& costs);
  /// A core writes a block, at no cost.
  void write(int core, std::size_t block, bool past_caches = false);

 private:
  static constexpr std::int16_t kMemory = -1;
  static constexpr std::uint32_t kNotHeld = ~std::uint32_t{0};
  struct Block {
    std::uint32_t version = 0;
    std::int16_t writer = 0;
  };

  std::size_t place(int core, std::size_t block) const {
    return static_cast<std::size_t>(core) * blocks_.size() + block;
  }
  std::uint32_t& held(int core, std::size_t block) { return held_[place(core, block)]; }
  void bring(int core, std::size_t block, HostCosts& costs);
  void take_back(int core, std::size_t block, bool is_copy, HostCosts& costs);
  void add_own(std::size_t block, double distance_bytes, double share, HostCosts& costs) const;
  void touch(int core, std::size_t block);

  double block_bytes_;
  double own_bytes_;
  double least_shared_;                                  ///< an eighth of the shared cache: before, none of it is lost
  std::array<double, HostCosts::kLevels> rises_from_{};  ///< logarithms of bytes: where each level begins to cost
  std::array<double, HostCosts::kLevels> rises_to_{};    ///< and where it costs in full
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> held_;  ///< the version that each core holds
  std::vector<ReuseDistance> cores_;
  ReuseDistance all_;  ///< by whichever core: what the shared cache sees
};

}  // namespace lockstep
