// What becomes of a Pending that nobody waits for: in a forked child, under an exception, of a caller's own operation.
#include <lockstep/pending.h>

#include "base/child_for_tests.h"
#include "base/clock.h"
#include "group/errors_for_tests.h"
#include "tests/conformance/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {

using testing_support::errors_on;
using testing_support::kForksBesideThreads;
using testing_support::kWhyNotForked;
using testing_support::run_ranks;
using testing_support::said_in_child;

namespace {

constexpr std::size_t kFloats = std::size_t{1} << 20;
/// Of who is to be told long before.
const OperationOptions kPatient{.timeout = std::chrono::seconds(40)};

/// A sum of two ranks that rank 0 begins before rank 1 comes, and that is right in the end, whatever rank 0 does
/// meanwhile.
void sum_around(const std::function<void(World&, Pending&)>& meanwhile) {
  std::promise<void> begun;
  run_ranks(2, [&](World& world) {
    std::vector<float> values(kFloats, static_cast<float>(1 + world.rank()));
    if (world.rank() == 1) begun.get_future().wait();
    Pending sum = world.all_reduce(buffer_of(values), ReduceOp::kSum, kPatient);
    if (world.rank() == 0) {
      begun.set_value();
      meanwhile(world, sum);
    }
    sum.wait();
    EXPECT_EQ(values, std::vector<float>(kFloats, 3));
  });
}

/// Whether it is refused with the words for a forked child.
bool is_refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kInvalidArgument &&
           std::string(error.what()).find("this process was forked from the rank's") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST(Pending, AForkedChildThatDropsOneTakesNothingFromItsParent) {
  if (!kForksBesideThreads) GTEST_SKIP() << kWhyNotForked;
  sum_around([](World& /*world*/, Pending& sum) {
    const auto said = said_in_child([&] {
      { const Pending dropped = std::move(sum); }
      return "dropped";
    });
    EXPECT_EQ(said, "dropped");
  });
}

/// Which says to nobody that it ends: the group is its parent's.
TEST(Pending, AForkedChildMayThrowPastItsGroups) {
  if (!kForksBesideThreads) GTEST_SKIP() << kWhyNotForked;
  std::optional<World> world = World::alone();
  const auto said = said_in_child([&]() -> std::string {
    try {
      const World mine = *std::exchange(world, std::nullopt);
      throw std::runtime_error("the disk is on fire");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  });
  EXPECT_EQ(said, "the disk is on fire");
  world->barrier().wait();
}

TEST(Pending, InAForkedChildEveryCallOfAGroupIsRefused) {
  if (!kForksBesideThreads) GTEST_SKIP() << kWhyNotForked;
  sum_around([](World& world, Pending& sum) {
    float value = 0;
    const Buffer buffer = buffer_of(&value, 1);
    const std::vector<std::function<void()>> calls{
        [&] { (void)sum.done(); },
        [&] { (void)world.progress(); },
        [&] { (void)world.barrier(); },
        [&] { (void)world.send(buffer, 1); },
        [&] { (void)world.receive(buffer, 1); },
        [&] { (void)world.split(0); },
        [&] { (void)world.allocate(64); },
        [&] { (void)world.load_schedule("lockstep schedule 1"); },
        [&] { sum.abandon(); },
        [&] { sum.wait(); },
    };
    const auto said = said_in_child([&] {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (!is_refused(calls[i])) return "accepted: call " + std::to_string(i);
      }
      return std::string("all refused");
    });
    EXPECT_EQ(said, "all refused");
  });
}

namespace {

/// What rank 1 is told that waits for rank 0, which throws while it holds what `start` gives; and that rank 0 comes to
/// its own catch without waiting.
std::string told_of_a_throw(const std::function<Pending(World&, Buffer)>& start) {
  std::promise<void> begun;
  std::string told;
  run_ranks(2, [&](World& world) {
    std::vector<float> values(kFloats, 1);
    const auto since = Clock::now();
    if (world.rank() == 0) {
      try {
        const Pending pending = start(world, buffer_of(values));
        begun.set_value();
        throw std::runtime_error("elsewhere");
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "elsewhere");
      }
      EXPECT_THAT([&] { world.barrier().wait(); },
                  testing::Throws<Error>(testing::Property(&Error::code, ErrorCode::kPeerLeft)));
    } else {
      begun.get_future().wait();
      try {
        world.receive(buffer_of(values), 0, kPatient).wait();
        ADD_FAILURE() << "nothing was sent";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kPeerLeft) << error.what();
        told = error.what();
      }
    }
    EXPECT_LT(Clock::now() - since, kPatient.timeout / 4);
  });
  return told;
}

/// Says what is asked of it.
struct Noted : Operation {
  explicit Noted(std::vector<std::string>& what) : calls(what) {}
  bool advance() override {
    calls.emplace_back("advance");
    return false;
  }
  void wait() override { calls.emplace_back("wait"); }
  void abandon() override { calls.emplace_back("abandon"); }
  std::vector<std::string>& calls;
};

/// Does something as it goes: under an exception, if one passes.
struct AtTheEnd {
  explicit AtTheEnd(std::function<void()> f) : last(std::move(f)) {}
  ~AtTheEnd() { last(); }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  std::function<void()> last;
};

}  // namespace

TEST(Pending, AThrowWhileAMessageIsUnderWayIsToldAtOnce) {
  const auto told = told_of_a_throw([](World& world, Buffer buffer) { return world.receive(buffer, 1, kPatient); });
  EXPECT_THAT(told, testing::HasSubstr("rank 0 left the group: it threw while an operation was under way"));
}

TEST(Pending, AThrowWhileACollectiveIsUnderWayIsToldAtOnce) {
  const auto told =
      told_of_a_throw([](World& world, Buffer buffer) { return world.all_reduce(buffer, ReduceOp::kSum, kPatient); });
  EXPECT_THAT(told, testing::HasSubstr("rank 0 left the group: it threw while an operation was under way"));
}

TEST(Pending, WhatIsAbandonedByHandIsNotToldAsAThrow) {
  const auto told = errors_on(2, [](World& world) {
    std::vector<float> values(kFloats, 1);
    const Buffer buffer = buffer_of(values);
    if (world.rank() == 0) world.receive(buffer, 1, kPatient).abandon();
    world.receive(buffer, 1 - world.rank(), kPatient).wait();
  });
  EXPECT_THAT(told, testing::Each(testing::HasSubstr("it abandoned an operation that was under way")));
}

TEST(Pending, AThrowAfterAnOperationIsCompleteDisturbsNobody) {
  std::promise<void> sent;
  run_ranks(2, [&](World& world) {
    int value = world.rank();
    if (world.rank() == 1) {
      world.send(buffer_of(&value, 1), 0).wait();
      sent.set_value();
    } else {
      try {
        const Pending received = world.receive(buffer_of(&value, 1), 1);
        sent.get_future().wait();
        throw std::runtime_error("elsewhere");
      } catch (const std::runtime_error&) {
        EXPECT_EQ(value, 1);
      }
    }
    world.barrier().wait();
  });
}

TEST(Pending, WhatIsStartedWhileAnExceptionPassesIsWaitedFor) {
  run_ranks(2, [](World& world) {
    std::vector<float> values(kFloats, 1);
    try {
      const AtTheEnd last([&] { const Pending dropped = world.all_reduce(buffer_of(values)); });
      throw std::runtime_error("elsewhere");
    } catch (const std::runtime_error&) {
      EXPECT_EQ(values, std::vector<float>(kFloats, 2));
    }
    world.barrier().wait();
  });
}

/// A slower rank is told of no exception that did not end the group.
TEST(Pending, AGroupThatIsMadeAndEndedWhileAnExceptionPassesEndsInOrder) {
  run_ranks(2, [](World& world) {
    std::vector<float> values(4, static_cast<float>(world.rank()));
    const auto use_a_group = [&] {
      const Group group = world.split(0);
      if (world.rank() == 0) return group.send(buffer_of(values), 1).wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      group.receive(buffer_of(values), 0).wait();
    };
    try {
      const AtTheEnd last(use_a_group);
      throw std::runtime_error("elsewhere");
    } catch (const std::runtime_error&) {
      EXPECT_EQ(values, std::vector<float>(4, 0));
    }
    world.barrier().wait();
  });
}

TEST(Pending, AnOperationOfTheCallersOwnIsAbandonedByAnExceptionOnly) {
  std::vector<std::string> calls;
  { const Pending dropped(std::make_shared<Noted>(calls)); }
  EXPECT_THAT(calls, testing::ElementsAre("wait"));
  calls.clear();
  try {
    const Pending dropped(std::make_shared<Noted>(calls));
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {
    EXPECT_THAT(calls, testing::ElementsAre("advance", "abandon", "wait"));
  }
}

TEST(Pending, OneThatIsAssignedIsJudgedByWhenItWasMade) {
  std::vector<std::string> calls;
  std::optional<Pending> made_before;
  made_before.emplace(std::make_shared<Noted>(calls));
  try {
    const AtTheEnd last([&] {
      Pending here(std::make_shared<Noted>(calls));
      calls.clear();
      here = std::move(*made_before);
      calls.emplace_back("assigned");
    });
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {
    EXPECT_THAT(calls, testing::ElementsAre("wait", "assigned", "advance", "abandon", "wait"));
  }
}

TEST(Pending, WhateverAnOperationOfTheCallersOwnThrowsIsLostWithIt) {
  struct ThrowsANumber : Operation {
    bool advance() override { return false; }
    void wait() override { throw 7; }
  };
  { const Pending dropped(std::make_shared<ThrowsANumber>()); }
  Pending kept(std::make_shared<ThrowsANumber>());
  EXPECT_THROW(kept.wait(), int);
}

TEST(Pending, WhatWaitHasThrownIsThrownByAllThatFollows) {
  struct ThrowsAtTheEnd : Noted {
    using Noted::Noted;
    void wait() override {
      Noted::wait();
      throw std::runtime_error("no end");
    }
  };
  const auto says_how_it_failed =
      testing::Throws<std::runtime_error>(testing::Property("what", &std::exception::what, testing::StrEq("no end")));
  std::vector<std::string> calls;
  {
    Pending failed(std::make_shared<ThrowsAtTheEnd>(calls));
    EXPECT_FALSE(failed.done());
    EXPECT_THAT([&] { failed.wait(); }, says_how_it_failed);
    EXPECT_THAT([&] { (void)failed.done(); }, says_how_it_failed);
    Pending moved(std::move(failed));
    EXPECT_THAT([&] { moved.wait(); }, says_how_it_failed);
    EXPECT_THAT([&] { moved.abandon(); }, says_how_it_failed);
    failed = std::move(moved);
    EXPECT_THAT([&] { (void)failed.done(); }, says_how_it_failed);
    failed = Pending();
    EXPECT_TRUE(failed.done()) << "it is another now";
  }
  EXPECT_THAT(calls, testing::ElementsAre("advance", "wait")) << "what was told is not asked for again";
}

}  // namespace lockstep
