#include "topology/cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <set>

namespace lockstep {

namespace {

CpuSet allowed_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ::sched_getaffinity(0, sizeof mask, &mask);
  CpuSet cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

/// Allows this thread the given CPUs only, while the object lives.
class Affinity {
 public:
  explicit Affinity(const CpuSet& cpus) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int cpu : cpus) CPU_SET(cpu, &mask);
    ::sched_setaffinity(0, sizeof mask, &mask);
  }
  ~Affinity() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

bool pinning_is_built_in() { return describe_topology().find("not built in") == std::string::npos; }

}  // namespace

TEST(Cpus, AreThoseThatThisProcessMayUse) {
  const CpuCount cpus = available_cpus();
  EXPECT_GE(cpus.cores, 1);
  EXPECT_GE(cpus.threads, cpus.cores);
  EXPECT_LE(cpus.threads, static_cast<int>(allowed_cpus().size()));
}

TEST(Cpus, SharesCoverTheMachineWithoutOverlap) {
  if (!pinning_is_built_in()) GTEST_SKIP() << "hwloc is not built in";
  const CpuSet allowed = allowed_cpus();
  for (int shares = 1; shares <= static_cast<int>(allowed.size()); ++shares) {
    std::multiset<int> used;
    for (const CpuSet& share : distribute_cpus(shares)) {
      EXPECT_FALSE(share.empty());
      used.insert(share.begin(), share.end());
    }
    EXPECT_THAT(used, testing::ElementsAreArray(allowed)) << shares << " shares";
  }
}

TEST(Cpus, MoreSharesThanCpusAreNotBound) {
  EXPECT_TRUE(distribute_cpus(static_cast<int>(allowed_cpus().size()) + 1).empty());
}

TEST(Cpus, ARestrictedAffinityIsRespected) {
  if (!pinning_is_built_in()) GTEST_SKIP() << "hwloc is not built in";
  const int last = allowed_cpus().back();
  const Affinity only_last({last});
  EXPECT_EQ(available_cpus().threads, 1);
  EXPECT_THAT(distribute_cpus(1), testing::ElementsAre(CpuSet{last}));
  EXPECT_TRUE(distribute_cpus(2).empty());
}

TEST(Cpus, OfTheMachineAreTheSameWhereverAProcessIsBound) {
  const CpuCount machine = machine_cpus();
  EXPECT_GE(machine.cores, available_cpus().cores);
  EXPECT_GE(machine.threads, available_cpus().threads);
  const Affinity only_last({allowed_cpus().back()});
  EXPECT_EQ(machine_cpus().cores, machine.cores);
  EXPECT_EQ(machine_cpus().threads, machine.threads);
}

TEST(Cpus, DescribesItself) { EXPECT_THAT(describe_topology(), testing::HasSubstr("pinning")); }

TEST(Cpus, NeighboursShareWhereThereAreTooFew) {
  const int cpus = available_cpus().threads;
  const std::vector<CpuSet> own = distribute_cpus(cpus);
  const std::vector<CpuSet> dealt = deal_cpus(2 * cpus);
  for (std::size_t rank = 0; rank < dealt.size(); ++rank) {
    EXPECT_EQ(dealt[rank], own.empty() ? CpuSet() : own[rank / 2]) << describe_topology();
  }
}

}  // namespace lockstep
