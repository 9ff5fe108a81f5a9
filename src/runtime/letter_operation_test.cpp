#include "runtime/letter_operation.h"

#include "algorithms/catalog.h"
#include "transport/shm/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

namespace lockstep {

namespace {

void on_threads(int ranks, const std::function<void(Transport&)>& run) {
  std::vector<shm::Host> hosts = shm::thread_hosts(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(hosts.size());
  for (shm::Host& host : hosts) {
    threads.emplace_back([&run, &host] {
      const auto transport = shm::create(std::move(host));
      run(*transport);
    });
  }
}

/// A rank's all_reduce of `count` int32 by the naive schedule, with what it stands on.
struct LetterSubject {
  LetterSubject(Transport& transport, std::size_t count)
      : schedule(find_algorithm("naive").build({.collective = Collective::kAllReduce, .ranks = transport.size()})),
        values(count) {
    Announcement announcement;
    announcement.collective = Collective::kAllReduce;
    announcement.count = count;
    announcement.dtype = DataType::kInt32;
    announcement.fingerprint = fingerprint_of(announcement);
    const Layout layout({.dtype = DataType::kInt32, .ranks = transport.size(), .count = count, .block_counts = {}});
    operation = std::make_unique<LetterOperation>(
        transport, letters,
        LetterOperation::Setup{.plan = std::make_shared<const Plan>(make_staged_plan(schedule, transport.rank())),
                               .announcement = announcement,
                               .layout = layout,
                               .spans = letter_spans(schedule, layout, DataType::kInt32)});
  }

  void run(std::uint64_t sequence, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    const Call call{values.data(), values.data(), "", timeout};
    operation->begin(call, sequence);
    while (!operation->advance()) operation->wait_for_peer();
  }

  Schedule schedule;
  LetterOperation::Letters letters;
  std::vector<std::int32_t> values;
  std::unique_ptr<LetterOperation> operation;
};

std::string error_of(const std::function<void()>& run, Transport& transport) {
  try {
    run();
  } catch (const Error& error) {
    transport.fail(error);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST(LetterOperation, AnExchangeIsAStepInWhichEverybodySendsToEverybody) {
  const auto schedule_of = [](const char* name, Collective collective) {
    return find_algorithm(name).build({.collective = collective, .ranks = 4});
  };
  EXPECT_TRUE(is_one_exchange(schedule_of("naive", Collective::kAllReduce)));
  EXPECT_TRUE(is_one_exchange(schedule_of("naive", Collective::kBarrier)));
  EXPECT_TRUE(is_one_exchange(schedule_of("direct", Collective::kAllGather)));
  EXPECT_FALSE(is_one_exchange(schedule_of("direct", Collective::kAllReduce))) << "two steps";
  EXPECT_FALSE(is_one_exchange(schedule_of("direct", Collective::kBroadcast))) << "only the root sends";
}

TEST(LetterOperation, ALetterHoldsWhatItsReadersRead) {
  const auto spans_of = [](const char* name, Collective collective, std::vector<std::size_t> block_counts = {}) {
    const Schedule schedule = find_algorithm(name).build({.collective = collective, .ranks = 3});
    const Layout layout({.collective = collective,
                         .ranks = 3,
                         .chunks = schedule.chunks,
                         .count = 12,
                         .block_counts = std::move(block_counts)});
    std::vector<std::pair<std::size_t, std::size_t>> spans;
    for (const LetterSpan& span : letter_spans(schedule, layout, DataType::kFloat32)) {
      spans.emplace_back(span.offset_bytes, span.bytes);
    }
    return spans;
  };
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(spans_of("naive", Collective::kAllReduce), ElementsAre(Pair(0, 48), Pair(0, 48), Pair(0, 48)));
  EXPECT_THAT(spans_of("direct", Collective::kAllGather), ElementsAre(Pair(0, 16), Pair(16, 16), Pair(32, 16)));
  EXPECT_THAT(spans_of("direct", Collective::kAllGather, {5, 0, 7}),
              ElementsAre(Pair(0, 20), Pair(20, 0), Pair(20, 28)));
  EXPECT_THAT(spans_of("direct", Collective::kReduceScatter), ElementsAre(Pair(16, 32), Pair(0, 48), Pair(0, 32)))
      << "a rank's own block is not sent where it lies at an end";
  EXPECT_THAT(spans_of("direct", Collective::kAllToAll), ElementsAre(Pair(16, 32), Pair(0, 48), Pair(0, 32)));
}

TEST(LetterOperation, SumsOnEveryRankInCallAfterCall) {
  for (const int ranks : {2, 3, 5}) {
    for (const std::size_t count : {0U, 1U, 14U, 15U, 266U}) {
      on_threads(ranks, [&](Transport& transport) {
        LetterSubject subject(transport, count);
        std::vector<ExecutedTransfer> executed;
        const TransferRecorder recorder = [&](const ExecutedTransfer& one) { executed.push_back(one); };
        subject.operation->record_transfers(&recorder);
        for (std::uint64_t sequence = 1; sequence <= 50; ++sequence) {
          const auto salt = static_cast<std::int32_t>(sequence);
          std::iota(subject.values.begin(), subject.values.end(), salt * transport.rank());
          subject.run(sequence);
          for (std::size_t i = 0; i < count; ++i) {
            const std::int32_t sum = ranks * static_cast<std::int32_t>(i) + salt * ranks * (ranks - 1) / 2;
            ASSERT_EQ(subject.values[i], sum) << "rank " << transport.rank() << " element " << i;
          }
        }
        EXPECT_EQ(executed.size(), 50 * static_cast<std::size_t>(ranks - 1));
        for (const Transfer& transfer : subject.schedule.steps.front()) {
          const auto times = std::count(executed.begin(), executed.end(), ExecutedTransfer{0, transfer});
          EXPECT_EQ(times, transfer.to == transport.rank() ? 50 : 0);
        }
      });
    }
  }
}

TEST(LetterOperation, DisagreementIsToldToBoth) {
  std::atomic<int> told = 0;
  on_threads(2, [&](Transport& transport) {
    LetterSubject subject(transport, transport.rank() == 0 ? 10 : 12);
    const std::string error = error_of([&] { subject.run(1); }, transport);
    EXPECT_THAT(error, testing::AllOf(testing::HasSubstr("rank 0: all_reduce of 10 int32"),
                                      testing::HasSubstr("rank 1: all_reduce of 12 int32")));
    ++told;
    while (told < 2) std::this_thread::yield();
  });
}

/// One rank did something else, needed nobody for it, and is past it.
TEST(LetterOperation, APeerThatWentPastIsNotWaitedFor) {
  std::atomic<bool> told = false;
  on_threads(2, [&](Transport& transport) {
    if (transport.rank() == 1) {
      Announcement other;
      for (other.sequence = 1; other.sequence <= 2; ++other.sequence) {
        other.collective = Collective::kBroadcast;
        transport.announce(other);
        transport.signal({other.sequence, 3});
      }
      while (!told) std::this_thread::yield();
      return;
    }
    LetterSubject subject(transport, 10);
    EXPECT_THAT(
        error_of([&] { subject.run(1); }, transport),
        testing::AllOf(testing::HasSubstr("rank 0: all_reduce of 10 int32"), testing::HasSubstr("rank 1: broadcast")));
    told = true;
  });
}

TEST(LetterOperation, ADeadlineNamesWhoDidNotCome) {
  std::atomic<int> given_up = 0;
  on_threads(3, [&](Transport& transport) {
    if (transport.rank() != 1) {
      LetterSubject subject(transport, 10);
      const auto error = error_of([&] { subject.run(1, std::chrono::milliseconds(200)); }, transport);
      EXPECT_THAT(error, testing::HasSubstr("for rank 1, which did not come to it"));
      ++given_up;
    }
    while (given_up < 2) std::this_thread::yield();
  });
}

/// As one that has left its letter and computes.
TEST(LetterOperation, ADeadlineNamesNobodyWhoseLetterIsThere) {
  std::atomic<bool> posted = false;
  std::atomic<bool> given_up = false;
  on_threads(3, [&](Transport& transport) {
    LetterSubject subject(transport, 10);
    const Call call{subject.values.data(), subject.values.data(), "", std::chrono::seconds(20)};
    if (transport.rank() == 2) {
      subject.operation->begin(call, 1);
      EXPECT_FALSE(subject.operation->advance());
      posted = true;
    }
    while (!posted) std::this_thread::yield();
    if (transport.rank() == 0) {
      const auto error = error_of([&] { subject.run(1, std::chrono::milliseconds(100)); }, transport);
      EXPECT_THAT(error, testing::HasSubstr("for rank 1, which did not come to it"));
      given_up = true;
    }
    while (!given_up) std::this_thread::yield();
  });
}

/// What comes between its last look and its sleep, for far longer than the test may take.
TEST(LetterOperation, WhoSleepsIsWokenByALetter) {
  std::vector<shm::Host> hosts = shm::thread_hosts(2);
  const auto slots = hosts[1].slots;
  const auto transport = shm::create(std::move(hosts[1]));
  LetterSubject subject(*transport, 10);
  const Call call{subject.values.data(), subject.values.data(), "", std::chrono::seconds(20)};
  shm::RankSlot& awaited = slots.get()[1];
  awaited.park(awaited.progress(), std::chrono::minutes(10), [&] {
    subject.operation->begin(call, 1);
    EXPECT_FALSE(subject.operation->advance());
    return false;
  });
  EXPECT_EQ(awaited.progress().sequence, 1U);
}

/// What it left for the others counts, though it never said how far it was.
TEST(LetterOperation, ALetterOutlivesItsWriter) {
  std::atomic<bool> posted = false;
  on_threads(2, [&](Transport& transport) {
    LetterSubject subject(transport, 10);
    std::iota(subject.values.begin(), subject.values.end(), transport.rank());
    if (transport.rank() == 1) {
      const Call call{subject.values.data(), subject.values.data(), "", std::chrono::seconds(20)};
      subject.operation->begin(call, 1);
      subject.operation->advance();
      posted = true;
      return;
    }
    while (!posted) std::this_thread::yield();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    EXPECT_THROW(transport.wait_for(1, Progress{1, 0}, deadline), Error) << "it has left";
    subject.run(1);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(subject.values[static_cast<std::size_t>(i)], 2 * i + 1);
  });
}

TEST(LetterOperation, APeerThatLeftWithoutOneIsNamed) {
  on_threads(2, [&](Transport& transport) {
    if (transport.rank() == 1) return;
    LetterSubject subject(transport, 10);
    EXPECT_THAT(error_of([&] { subject.run(1); }, transport), testing::HasSubstr("rank 1 has left the group"));
  });
}

}  // namespace lockstep
