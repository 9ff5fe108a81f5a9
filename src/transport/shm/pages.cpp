#include "transport/shm/pages.h"

#include <sys/mman.h>

#include <cerrno>

namespace lockstep::shm {

namespace {

bool advise(std::uintptr_t from, std::size_t bytes, int advice) {
  return ::madvise(reinterpret_cast<void*>(from), bytes, advice) == 0;
}

// Older headers lack the names.
constexpr int kPopulateWrite = 23;  // Linux 5.14
constexpr int kCollapse = 25;

void make_huge(std::uintptr_t begin, std::size_t bytes) {
  const std::uintptr_t first = up_to_huge(begin);
  const std::uintptr_t end = (begin + bytes) / kHugePage * kHugePage;
  if (first >= end) return;
  // One of which nothing is there yet would be refused.
  for (std::uintptr_t page = first; page < end; page += kHugePage) {
    if (!advise(page, kPage, kPopulateWrite)) return;
  }
  advise(first, end - first, kCollapse);
}

}  // namespace

bool populate(std::byte* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  make_huge(begin, bytes);
  if (advise(begin, bytes, kPopulateWrite)) return true;
  if (errno != EINVAL) return false;
  for (std::size_t at = 0; at < bytes; at += kPage) *reinterpret_cast<volatile char*>(data + at) = 0;
  return true;
}

}  // namespace lockstep::shm
