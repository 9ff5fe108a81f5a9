#include "tests/conformance/on_every_setting.h"

#include "tests/conformance/member_memory.h"
#include "tests/conformance/shared_array.h"

namespace lockstep::conformance {

void OnEverySetting::expect_conforming(const std::vector<Case>& cases) {
  const Inputs inputs(GetParam().ranks);
  run_world(GetParam(), [&](Member& member) {
    MemberMemory memory(member.world, cases);
    for (const Case& one : cases) {
      Trial trial(member.world, inputs, one, memory.of(one));
      trial.start();
      trial.finish();
    }
  });
}

void OnEverySetting::expect_same_bytes(const std::vector<Case>& cases) {
  const auto ranks = static_cast<std::size_t>(GetParam().ranks);
  const Inputs inputs(GetParam().ranks);
  const SharedArray<std::uint64_t> digests(cases.size() * ranks);
  run_world(GetParam(), [&](Member& member) {
    MemberMemory memory(member.world, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Trial trial(member.world, inputs, cases[i], memory.of(cases[i]));
      trial.start();
      trial.finish();
      digests[i * ranks + static_cast<std::size_t>(member.world.rank())] = trial.digest();
    }
  });
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const std::size_t first = i / ranks * ranks;
    ASSERT_EQ(digests[i], digests[first]) << "rank " << i - first << " and rank 0: " << cases[i / ranks];
  }
}

}  // namespace lockstep::conformance
