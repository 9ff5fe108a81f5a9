#include "bench/memory.h"

#include "base/map_pages.h"
#include "kernels/stream.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <cstring>

namespace lockstep::bench {

namespace {

constexpr std::size_t kPage = 4096;

constexpr std::string_view kNeeded =
    "how fast memory is can only be measured with two as large as the last-level cache; allow this process more "
    "(ulimit -v)";

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

PlainMemory allocate_plain(std::size_t bytes, std::string_view remedy) {
  PlainMemory memory = map_pages(whole_pages(bytes));
  if (!memory) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("There is no memory for a buffer of {} bytes; {}.", bytes, remedy));
  }
  return memory;
}

CopyProbe::CopyProbe(std::size_t cache_bytes)
    : bytes_(whole_pages(cache_bytes)), from_(allocate_plain(bytes_, kNeeded)), to_(allocate_plain(bytes_, kNeeded)) {
  // Pages that were never written may all be the same one.
  std::memset(from_.get(), 1, bytes_);
  std::memset(to_.get(), 2, bytes_);
}

void CopyProbe::run() { (void)kernels::stream_pass(to_.get(), from_.get(), bytes_); }

}  // namespace lockstep::bench
