#include "topology/cpu_quota.h"

#include "base/scratch_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace lockstep {

namespace fs = std::filesystem;

class CpuQuota : public testing::Test {
 protected:
  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << '\n';
  }

 private:
  const ScratchFolder scratch_;

 protected:
  const fs::path& root_ = scratch_.path();
};

TEST_F(CpuQuota, Version2RoundsUp) {
  write("cpu.max", "150000 100000");
  EXPECT_EQ(cpu_quota(root_), 2);
}

TEST_F(CpuQuota, Version2WithoutALimit) {
  write("cpu.max", "max 100000");
  EXPECT_EQ(cpu_quota(root_), std::nullopt);
}

TEST_F(CpuQuota, Version1) {
  write("cpu/cpu.cfs_period_us", "100000");
  write("cpu/cpu.cfs_quota_us", "400000");
  EXPECT_EQ(cpu_quota(root_), 4);
  write("cpu/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cpu_quota(root_), std::nullopt);
}

TEST_F(CpuQuota, NoCgroupsMeansNoLimit) { EXPECT_EQ(cpu_quota(root_), std::nullopt); }

TEST_F(CpuQuota, LimitsTheCpusOfTheSystem) {
  const int all = cpus_within_quota(root_);
  EXPECT_GE(all, 1);
  write("cpu.max", "100000 100000");
  EXPECT_EQ(cpus_within_quota(root_), 1);
  write("cpu.max", "900000000 100000");
  EXPECT_EQ(cpus_within_quota(root_), all) << "more than there are";
}

}  // namespace lockstep
