#pragma once

#include "base/own_process.h"
#include "transport/shm/shared_mapping.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace lockstep::shm {

/// Where in a rank's arena, of more than a huge page, its first memory lies. If it were the same place for all, what a
/// pass reads of all of them would fight for the same places in caches and memory (docs/design/runtime.md).
std::size_t first_place(int rank);

/// A rank's registered memory: one large, sparse mapping that every peer maps once when it joins, so that any memory
/// allocated from it later is visible to all with no further exchange. Costs address space, not memory.
///
/// Thread-safe. First fit, in whole pages; a freed range gives its pages back to the system, but for a forked child's
/// copies, whose pages are its parent's.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  /// As much address space as the machine has memory; where many ranks would then want more of it than a process has,
  /// who each map all ranks' arenas and may do so for several groups, at least twice a rank's share of that memory.
  static std::size_t default_bytes(int ranks);
  static std::size_t default_bytes(int ranks, std::size_t memory_bytes);
  /// `rank`, whose it is: its memory begins at first_place().
  static std::shared_ptr<Arena> create(std::size_t bytes, int rank = 0);

  /// Zero-filled, page-aligned, its pages present, huge ones where there are any (pages.h). The arena lives as
  /// long as the memory does. Throws kOutOfMemory.
  std::shared_ptr<void> allocate(std::size_t bytes);
  /// The same, but never given back: peers may read it for as long as they have it mapped. Of its pages those of the
  /// first `present` bytes are present; the others cost nothing until somebody populates them (pages.h).
  std::byte* allocate_for_good(std::size_t bytes, std::size_t present);

  /// Where [data, data + bytes) lies in the arena; none if any of it lies outside.
  std::optional<std::uint64_t> offset_of(const void* data, std::size_t bytes) const;
  const SharedMapping& mapping() const { return mapping_; }

 private:
  Arena(SharedMapping mapping, int rank);
  /// A range of whole pages, of which those of the first `present` bytes are. Throws kOutOfMemory.
  std::pair<std::size_t, std::size_t> take_pages(std::size_t bytes, std::size_t present);
  std::size_t take_range(std::size_t bytes);
  /// Where there is no memory to note it down the range is lost, but not its pages.
  void give_back(std::size_t offset, std::size_t bytes) noexcept;
  void note_free(std::size_t offset, std::size_t bytes);

  OwnProcess process_;
  SharedMapping mapping_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  ///< offset to length; neighbours are always joined
};

}  // namespace lockstep::shm
