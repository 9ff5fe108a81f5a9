#include "bench/memory.h"

#include "kernels/stream.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <cstdlib>
#include <cstring>

namespace lockstep::bench {

namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

PlainMemory allocate_plain(std::size_t bytes) {
  PlainMemory memory(std::aligned_alloc(kPage, whole_pages(bytes)), std::free);
  if (!memory) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("There is no memory for a buffer of {} bytes; try a smaller --max-bytes.", bytes));
  }
  return memory;
}

CopyProbe::CopyProbe(std::size_t cache_bytes)
    : bytes_(whole_pages(cache_bytes)), from_(allocate_plain(bytes_)), to_(allocate_plain(bytes_)) {
  // Pages that were never written may all be the same one.
  std::memset(from_.get(), 1, bytes_);
  std::memset(to_.get(), 2, bytes_);
}

void CopyProbe::run() { (void)kernels::stream_pass(to_.get(), from_.get(), bytes_); }

}  // namespace lockstep::bench
