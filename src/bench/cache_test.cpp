#include "bench/cache.h"

#include "tests/processes/temporary_folder.h"

namespace lockstep::bench {

class Cache : public testing_support::TemporaryFolder {
 protected:
  void add(int index, const std::string& level, const std::string& size) {
    const auto folder = folder_ / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << '\n';
    std::ofstream(folder / "size") << size << '\n';
  }
};

TEST_F(Cache, TakesTheHighestLevel) {
  add(0, "1", "48K");
  add(1, "1", "32K");
  add(2, "2", "1024K");
  add(3, "3", "32768K");
  EXPECT_EQ(last_level_cache_bytes(folder_), 32U << 20);
}

TEST_F(Cache, GuessesWhereTheKernelSaysNothing) {
  EXPECT_EQ(last_level_cache_bytes(folder_), 32U << 20);
  add(0, "2", "512K");
  EXPECT_EQ(last_level_cache_bytes(folder_), 512U << 10);
}

}  // namespace lockstep::bench
