#include "transport/shm/arena.h"

#include "transport/shm/pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace lockstep::shm {

namespace {

Error out_of_memory(std::size_t bytes) {
  return {ErrorCode::kOutOfMemory,
          fmt::format("{} bytes of registered memory were asked for, more than this machine has left.", bytes)};
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

std::size_t first_place(int rank) {
  constexpr std::size_t kApart = 65 * kPage;  // of 8 ranks none is nearer to another than 57 pages
  return static_cast<std::size_t>(rank) * kApart % kHugePage;
}

std::size_t Arena::default_bytes(int ranks) {
  return default_bytes(
      ranks, static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

std::size_t Arena::default_bytes(int ranks, std::size_t memory_bytes) {
  constexpr std::size_t kOfAllRanks = std::size_t{4} << 40U;  // of the 128 TiB of a process
  const std::size_t of_all = std::max(kOfAllRanks, 2 * memory_bytes);
  return std::max(kPage, std::min(memory_bytes, of_all / static_cast<std::size_t>(ranks)) / kPage * kPage);
}

std::shared_ptr<Arena> Arena::create(std::size_t bytes, int rank) {
  return std::shared_ptr<Arena>(new Arena(SharedMapping::create("lockstep-memory", bytes), rank));
}

Arena::Arena(SharedMapping mapping, int rank) : mapping_(std::move(mapping)) {
  const std::size_t first = mapping_.bytes() > kHugePage ? first_place(rank) : 0;
  free_.emplace(first, mapping_.bytes() - first);
}

std::size_t Arena::take_range(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits = [bytes](const auto& range) { return range.second >= bytes; };
  const auto range = std::find_if(free_.begin(), free_.end(), fits);
  if (range == free_.end()) throw out_of_memory(bytes);
  auto rest = free_.extract(range);  // and not a new one, for which there may be no memory
  const std::size_t offset = rest.key();
  rest.key() += bytes;
  rest.mapped() -= bytes;
  if (rest.mapped() > 0) free_.insert(std::move(rest));
  return offset;
}

void Arena::give_back(std::size_t offset, std::size_t bytes) noexcept {
  if (!process_.is_this()) return;
  ::fallocate(mapping_.file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
  try {
    note_free(offset, bytes);
  } catch (const std::bad_alloc&) {  // as the header says
  }
}

void Arena::note_free(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto range = free_.emplace(offset, bytes).first;
  if (const auto next = std::next(range); next != free_.end() && offset + bytes == next->first) {
    range->second += next->second;
    free_.erase(next);
  }
  if (range == free_.begin()) return;
  if (const auto before = std::prev(range); before->first + before->second == offset) {
    before->second += range->second;
    free_.erase(range);
  }
}

std::pair<std::size_t, std::size_t> Arena::take_pages(std::size_t bytes, std::size_t present) {
  if (bytes > mapping_.bytes()) throw out_of_memory(bytes);
  const std::size_t whole = std::max(kPage, whole_pages(bytes));
  const std::size_t offset = take_range(whole);
  if (present == 0 || populate(mapping_.data() + offset, std::min(whole, whole_pages(present)))) return {offset, whole};
  give_back(offset, whole);
  throw out_of_memory(bytes);
}

std::shared_ptr<void> Arena::allocate(std::size_t bytes) {
  const auto [offset, whole] = take_pages(bytes, std::max(bytes, kPage));
  return {mapping_.data() + offset,
          [self = shared_from_this(), offset = offset, whole = whole](void*) { self->give_back(offset, whole); }};
}

std::byte* Arena::allocate_for_good(std::size_t bytes, std::size_t present) {
  return mapping_.data() + take_pages(bytes, present).first;
}

std::optional<std::uint64_t> Arena::offset_of(const void* data, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto base = reinterpret_cast<std::uintptr_t>(mapping_.data());
  if (begin < base || begin - base > mapping_.bytes() || bytes > mapping_.bytes() - (begin - base)) return std::nullopt;
  return begin - base;
}

}  // namespace lockstep::shm
