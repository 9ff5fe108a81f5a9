#include "topology/caches.h"

#include "tests/processes/temporary_folder.h"

namespace lockstep {

class Caches : public testing_support::TemporaryFolder {
 protected:
  void add(int index, const std::string& level, const std::string& size, const std::string& type = "Unified") {
    const auto folder = folder_ / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << '\n';
    std::ofstream(folder / "size") << size << '\n';
    std::ofstream(folder / "type") << type << '\n';
  }
};

TEST_F(Caches, TakesTheHighestLevel) {
  add(0, "1", "48K", "Data");
  add(1, "1", "32K", "Instruction");
  add(2, "2", "1024K");
  add(3, "3", "16384K");
  EXPECT_EQ(last_level_cache_bytes(folder_), 16U << 20);
}

TEST_F(Caches, OfALevelAreThoseOfData) {
  add(0, "1", "48K", "Data");
  add(1, "1", "32K", "Instruction");
  add(2, "3", "260M");
  EXPECT_EQ(cache_bytes(1, folder_), 48U << 10);
  EXPECT_EQ(cache_bytes(2, folder_), 0U);
  EXPECT_EQ(cache_bytes(3, folder_), 260U << 20);
}

TEST_F(Caches, GuessesWhereTheKernelSaysNothing) {
  EXPECT_EQ(last_level_cache_bytes(folder_), 32U << 20);
  add(0, "2", "512K");
  EXPECT_EQ(last_level_cache_bytes(folder_), 512U << 10);
  add(1, "3", "");
  EXPECT_EQ(last_level_cache_bytes(folder_), 32U << 20) << "there is a third level, of no size";
}

}  // namespace lockstep
