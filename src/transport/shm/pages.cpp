#include "transport/shm/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace lockstep::shm {

namespace {

bool advise(std::byte* from, std::size_t bytes, int advice) { return ::madvise(from, bytes, advice) == 0; }

// Older headers lack the names.
constexpr int kPopulateWrite = 23;  // Linux 5.14
constexpr int kCollapse = 25;

void make_huge(std::byte* data, std::size_t bytes) {
  const std::size_t before = std::min(bytes, bytes_before_huge(data));
  const std::size_t huge = (bytes - before) / kHugePage * kHugePage;
  if (huge == 0) return;
  // One of which nothing is there yet would be refused.
  for (std::size_t at = before; at < before + huge; at += kHugePage) {
    if (!advise(data + at, kPage, kPopulateWrite)) return;
  }
  advise(data + before, huge, kCollapse);
}

}  // namespace

bool populate(std::byte* data, std::size_t bytes) {
  make_huge(data, bytes);
  if (advise(data, bytes, kPopulateWrite)) return true;
  if (errno != EINVAL) return false;
  for (std::size_t at = 0; at < bytes; at += kPage) *reinterpret_cast<volatile char*>(data + at) = 0;
  return true;
}

}  // namespace lockstep::shm
