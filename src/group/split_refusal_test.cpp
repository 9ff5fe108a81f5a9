// What becomes of a group that cannot be split; tests/conformance splits groups on every kind of world.
#include "group/split.h"

#include "base/error_for_tests.h"
#include "group/engine_for_tests.h"
#include "group/thread_world.h"
#include "transport/shm/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace lockstep::detail {

namespace {

/// Of a process that may not have as many files open as it takes to join the others.
class EngineWithoutRoom final : public WrappedEngine {
 public:
  explicit EngineWithoutRoom(std::unique_ptr<Engine> inner) : WrappedEngine(std::move(inner)) {}
  std::unique_ptr<Engine> join(const Meeting& /*meeting*/) override {
    throw Error(ErrorCode::kInvalidArgument, "Rank 1 needs more open files; raise it (ulimit -n).");
  }
};

/// Of a process that has no memory left for what ranks say to each other second.
class EngineThatRunsOut final : public WrappedEngine {
 public:
  explicit EngineThatRunsOut(std::unique_ptr<Engine> inner) : WrappedEngine(std::move(inner)) {}
  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    if (++prepared_ == 2) throw std::bad_alloc();
    return WrappedEngine::prepare(std::move(shape));
  }

 private:
  int prepared_ = 0;
};

/// Two ranks, the second of which has such an engine; what both hear of the split they hear of the group from then on.
template <class Faulty>
void expect_split_ends_the_group(ErrorCode code, const char* words) {
  auto hosts = shm::thread_hosts(2);
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(make_engine(shm::create(std::move(hosts[0]))));
  engines.push_back(std::make_unique<Faulty>(make_engine(shm::create(std::move(hosts[1])))));
  run_threads_over(std::move(engines), [=](World& world) {
    const auto is_told = testing_support::refuses(code, words);
    EXPECT_THAT([&] { (void)world.split(0); }, is_told);
    EXPECT_THAT([&] { world.barrier().wait(); }, is_told) << "as of any operation that failed";
  });
}

}  // namespace

/// The other has gone on to where they meet, and would wait there; a second try would meet it there, too.
TEST(Split, WhoRunsOutOfMemoryAmidItEndsTheGroup) {
  expect_split_ends_the_group<EngineThatRunsOut>(ErrorCode::kOutOfMemory, "memory");
}

/// Of arguments nothing would have been sent, and the group would be as before.
TEST(Split, ThatARankIsRefusedThereIsTheGroupsErrorAndNoArguments) {
  expect_split_ends_the_group<EngineWithoutRoom>(ErrorCode::kTransport, "Rank 1 needs more open files; raise it");
}

}  // namespace lockstep::detail
