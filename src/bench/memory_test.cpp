#include "bench/memory.h"

#include "base/error_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cstdint>
#include <cstring>

namespace lockstep::bench {

namespace {

constexpr std::size_t kFarTooMuch = std::size_t{1} << 60;

}  // namespace

TEST(BenchMemory, IsOfWholePages) {
  const PlainMemory memory = allocate_plain(5000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 4096, 0U);
  std::memset(memory.get(), 1, 8192);
}

TEST(BenchMemory, SaysWhatToDoWhereItCannotBeHad) {
  EXPECT_THAT([] { (void)allocate_plain(kFarTooMuch); },
              testing_support::refuses(ErrorCode::kOutOfMemory,
                                       "There is no memory for a buffer of 1152921504606846976 bytes; try a smaller "
                                       "--max-bytes."));
  EXPECT_THAT([] { CopyProbe probe(kFarTooMuch); },
              testing_support::refuses(ErrorCode::kOutOfMemory,
                                       "There is no memory for a buffer of 1152921504606846976 bytes; how fast memory "
                                       "is can only be measured with two as large as the last-level cache; allow this "
                                       "process more (ulimit -v)."));
}

TEST(BenchMemory, ACopyReadsAndWritesEachByte) {
  CopyProbe probe(5000);
  EXPECT_EQ(probe.traffic_bytes(), 2 * 8192);
  probe.run();
}

}  // namespace lockstep::bench
