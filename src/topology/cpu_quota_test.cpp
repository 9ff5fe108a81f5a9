#include "topology/cpu_quota.h"

#include "base/error_for_tests.h"
#include "base/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace lockstep {

namespace fs = std::filesystem;
using testing_support::refuses;

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
  const CgroupFiles files_{.mount = root_, .own = root_ / "own"};
};

TEST_F(CpuQuota, Version2RoundsUp) {
  write("cpu.max", "150000 100000");
  EXPECT_EQ(cpu_quota(files_), 2);
}

TEST_F(CpuQuota, Version2WithoutALimit) {
  write("cpu.max", "max 100000");
  EXPECT_EQ(cpu_quota(files_), std::nullopt);
}

TEST_F(CpuQuota, Version1) {
  write("cpu/cpu.cfs_period_us", "100000");
  write("cpu/cpu.cfs_quota_us", "400000");
  EXPECT_EQ(cpu_quota(files_), 4);
  write("cpu/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cpu_quota(files_), std::nullopt);
}

TEST_F(CpuQuota, NoCgroupsMeansNoLimit) { EXPECT_EQ(cpu_quota(files_), std::nullopt); }

TEST_F(CpuQuota, OfNestedCgroupsTheLeastCounts) {
  write("own", "0::/user.slice/run.scope");
  write("user.slice/cpu.max", "max 100000");
  write("user.slice/run.scope/cpu.max", "300000 100000");
  EXPECT_EQ(cpu_quota(files_), 3);
  write("user.slice/cpu.max", "200000 100000");
  EXPECT_EQ(cpu_quota(files_), 2);
  write("cpu.max", "100000 100000");
  EXPECT_EQ(cpu_quota(files_), 1);
  write("other.slice/cpu.max", "50000 100000");
  write("own", "0::/");
  EXPECT_EQ(cpu_quota(files_), 1) << "another's is not looked at";
}

TEST_F(CpuQuota, OfVersion1EachControllerHasAPathOfItsOwn) {
  write("own", "5:cpuset:/step\n4:cpu,cpuacct:/job/a:b\n1:name=systemd:/cpu\n0::/cpu");  // hybrid
  write("cpu/job/a:b/cpu.cfs_period_us", "100000");
  write("cpu/job/a:b/cpu.cfs_quota_us", "400000");
  write("cpu/job/cpu.cfs_period_us", "100000");
  write("cpu/job/cpu.cfs_quota_us", "-1");
  write("cpu/step/cpu.cfs_period_us", "100000");
  write("cpu/step/cpu.cfs_quota_us", "100000");
  write("cpuset/cpuset.effective_cpus", "0-63");
  write("cpuset/step/cpuset.effective_cpus", "0-7");
  EXPECT_EQ(cpu_quota(files_), 4);
  EXPECT_EQ(cpuset_size(files_), 8);
}

TEST_F(CpuQuota, APathThatTheMountDoesNotShowIsItsRoot) {
  write("cpu.max", "200000 100000");
  write("sub/cpu.max", "100000 100000");
  for (const char* path : {"/docker/1234", "/sub/docker", "/../sub", "/sub/..", "/"}) {
    write("own", std::string("0::") + path);
    EXPECT_EQ(cpu_quota(files_), 2) << path;
  }
  for (const char* line : {"", "0", "0:", "0:/sub", "1:cpu:/sub"}) {
    write("own", line);
    EXPECT_EQ(cpu_quota(files_), 2) << line;
  }
}

TEST_F(CpuQuota, LimitsTheCpusOfTheSystem) {
  const int all = cpus_within_quota(files_);
  EXPECT_GE(all, 1);
  write("cpu.max", "100000 100000");
  EXPECT_EQ(cpus_within_quota(files_), 1);
  write("cpu.max", "900000000 100000");
  EXPECT_EQ(cpus_within_quota(files_), all) << "more than there are";
}

TEST_F(CpuQuota, ACpusetIsCounted) {
  EXPECT_EQ(cpuset_size(files_), std::nullopt);
  write("cpuset/cpuset.effective_cpus", "2");
  EXPECT_EQ(cpuset_size(files_), 1) << "version 1";
  write("cpuset.cpus.effective", "0-3,8,10-11");
  EXPECT_EQ(cpuset_size(files_), 7) << "version 2";
  for (const char* text : {"", "none", "0-", "0-3,x"}) {
    write("cpuset.cpus.effective", text);
    fs::remove(root_ / "cpuset/cpuset.effective_cpus");
    EXPECT_EQ(cpuset_size(files_), std::nullopt) << text;
  }
}

TEST_F(CpuQuota, OfNestedCpusetsTheLeastCounts) {
  write("own", "0::/job/step");
  write("cpuset.cpus.effective", "0-63");
  write("job/cpuset.cpus.effective", "0-7");
  EXPECT_EQ(cpuset_size(files_), 64) << "the mount shows no step";
  fs::create_directories(root_ / "job/step");
  EXPECT_EQ(cpuset_size(files_), 8) << "which has no controller of its own";
}

TEST_F(CpuQuota, ACpusetLimitsTheCpusOfTheSystem) {
  const int all = cpus_within_quota(files_);
  write("cpuset.cpus.effective", "0-63");
  EXPECT_EQ(cpus_within_quota(files_), std::min(all, 64)) << "more than there may be";
  write("cpuset.cpus.effective", "1");
  EXPECT_EQ(cpus_within_quota(files_), 1);
}

TEST(JobCpus, AreWhatTheLauncherSays) {
  ::unsetenv("LOCKSTEP_CPUS");
  EXPECT_EQ(job_cpus(), cpus_within_quota());
  for (const char* text : {"3", "1"}) {
    ::setenv("LOCKSTEP_CPUS", text, 1);
    EXPECT_EQ(std::to_string(job_cpus()), text);
  }
  for (const char* text : {"0", "-1", "two"}) {
    ::setenv("LOCKSTEP_CPUS", text, 1);
    EXPECT_THAT(job_cpus, refuses(ErrorCode::kInvalidArgument, std::string("LOCKSTEP_CPUS is '") + text + "'"));
  }
  ::unsetenv("LOCKSTEP_CPUS");
}

}  // namespace lockstep
