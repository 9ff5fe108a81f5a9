// A rank is killed, or stopped, in the middle of an operation: what the others are told, and when. Each algorithm and
// each collective, on either medium, between processes.
#include "base/clock.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/member_memory.h"
#include "tests/conformance/shared_array.h"
#include "tests/conformance/tripwire.h"

#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"
#include "schedule/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::conformance {

namespace {

constexpr int kRanks = 4;
constexpr std::size_t kElements = std::size_t{1} << 20;
// Of those who wait for one that is stopped; longer than a busy machine lets a rank wait for a core.
constexpr std::chrono::milliseconds kDeadline{1000};
constexpr std::chrono::milliseconds kNoDeadline{60'000};  // of those who must be told earlier
// Behind an operation in which others may wait for it still: those are told first.
constexpr std::chrono::milliseconds kLaterDeadline{1500};
constexpr std::int64_t kSecond = 1'000'000;  // microseconds
/// From an operation that goes on without them; the victim never comes back.
constexpr std::chrono::milliseconds kAway{300};

enum class Memory : std::uint8_t { kPlain, kRegistered };

struct Subject {
  Medium medium;
  Memory memory;
  std::string algorithm;     ///< or kMessages
  std::vector<int> hosts{};  ///< pretended: then the end comes while it goes from host to host; empty: all share one
  std::optional<Collective> collective{};  ///< or the first that the algorithm does
  std::size_t elements = kElements;
  int times = 1;  ///< in a row: where one may be over before a rank looks at its tripwire
  bool in_part = false;
  bool in_pairs = false;       ///< the all_to_all whose blocks differ
  bool in_background = false;  ///< and all are away from the group when the end comes
  bool leaves_child = false;   ///< that the victim forked, and that outlives it
  std::array<std::chrono::milliseconds, kRanks> away{kAway, kAway, kAway, kAway};  ///< by rank, of those who come back
};

/// No collective, but messages: everybody's to the next. One is as much as a rank may pass between two looks at its
/// tripwire; all of them are far more than the streams hold (a socket's receive buffer may be 32 MiB).
constexpr const char* kMessages = "messages";
constexpr std::size_t kMessageElements = 2 * kElements;
constexpr int messages_in_round(Medium medium) { return medium == Medium::kTcp ? 10 : 4; }

/// Of those that run in a part of the world, the one who has no part in it. The others are numbered from the last.
constexpr int kOutsider = 2;
constexpr std::array kInPart{2, 1, -1, 0};  ///< by rank in the world

/// Every collective that no algorithm does first, small operations, which go as letters where there are such, and one
/// in a part, and one in the background where there is such.
std::vector<Subject> subjects_beside_the_first(Medium medium) {
  std::vector<Subject> subjects;
  const auto add = [&](Collective collective, const char* algorithm) -> Subject& {
    subjects.push_back({.medium = medium, .memory = Memory::kPlain, .algorithm = algorithm, .collective = collective});
    if (has_root(collective)) subjects.back().times = 4;  // a leaf may receive all of one at once
    return subjects.back();
  };
  add(Collective::kReduceScatter, "ring");
  add(Collective::kAllGather, "recursive_doubling");
  add(Collective::kBroadcast, "tree");
  add(Collective::kReduce, "double_tree");
  add(Collective::kGather, "star");
  add(Collective::kScatter, "tree");
  add(Collective::kAllToAll, "pairwise").in_pairs = true;
  if (medium == Medium::kSharedMemory) {  // in place
    add(Collective::kBroadcast, "tree").memory = Memory::kRegistered;
    add(Collective::kAllGather, "ring").memory = Memory::kRegistered;
  }
  const auto add_small = [&](Collective collective, const char* algorithm, std::size_t elements) {
    Subject& small = add(collective, algorithm);
    small.elements = elements;
    small.times = 50;
  };
  add_small(Collective::kAllReduce, "naive", 100);
  add_small(Collective::kBarrier, "recursive_doubling", 0);
  if (medium == Medium::kSharedMemory) add_small(Collective::kBarrier, "naive", 0);  // as letters
  add(Collective::kAllReduce, "ring").in_part = true;
  add(Collective::kAllReduce, "ring").leaves_child = true;
  if (medium == Medium::kTcp) add(Collective::kAllReduce, "ring").in_background = true;
  return subjects;
}

std::vector<Subject> every_subject() {
  std::vector<Subject> subjects;
  for (const std::string& algorithm : names_of_algorithms()) {
    subjects.push_back({Medium::kSharedMemory, Memory::kPlain, algorithm});
    subjects.push_back({Medium::kSharedMemory, Memory::kRegistered, algorithm});
    subjects.push_back({Medium::kTcp, Memory::kPlain, algorithm});
  }
  subjects.push_back({Medium::kSharedMemory, Memory::kPlain, kMessages});
  subjects.push_back({Medium::kTcp, Memory::kPlain, kMessages});
  const std::vector<int> two_hosts{0, 0, 1, 1};
  subjects.push_back({Medium::kSharedMemory, Memory::kPlain, "hierarchical:direct,ring", two_hosts});
  subjects.push_back({Medium::kSharedMemory, Memory::kRegistered, "hierarchical:direct,ring", two_hosts});
  subjects.push_back({Medium::kTcp, Memory::kPlain, "hierarchical:direct,ring", two_hosts});
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const std::vector<Subject> others = subjects_beside_the_first(medium);
    subjects.insert(subjects.end(), others.begin(), others.end());
  }
  return subjects;
}

std::ostream& operator<<(std::ostream& out, const Subject& subject) {
  const char* const memory = subject.memory == Memory::kPlain ? "plain_" : "registered_";
  out << (subject.medium == Medium::kTcp ? "tcp_" : "shm_") << (subject.medium == Medium::kTcp ? "" : memory);
  out << test_name({subject.algorithm, 0}) << (subject.hosts.empty() ? "" : "_between_hosts");
  if (subject.collective) out << "_" << to_string(*subject.collective);
  out << (subject.in_pairs ? "_v" : "");
  return out << (subject.elements < kElements ? "_small" : "") << (subject.in_part ? "_in_a_part" : "")
             << (subject.in_background ? "_in_the_background" : "") << (subject.leaves_child ? "_leaves_a_child" : "");
}

/// Blocks of two sizes, of which every rank sends and gets two each: as much as if they were alike.
std::vector<std::size_t> uneven_pairs() {
  std::vector<std::size_t> counts;
  for (int pair = 0; pair < kRanks * kRanks; ++pair) {
    counts.push_back(kElements / kRanks - 1000 + ((pair / kRanks + pair) % 2 == 0 ? 2000U : 0U));
  }
  return counts;
}

/// What the victim says before its end.
struct End {
  std::uint64_t passed;  ///< of what it moves in an operation, when the end came
  std::uint64_t total;   ///< of what it moved in the same operation before
  std::int64_t time;
  bool in_background;  ///< it came in another thread than the one that asks for operations
};

/// What a survivor is told.
struct Notice {
  std::int64_t time;
  int peer;
  ErrorCode code;
  std::array<char, 400> text;
};

/// Four ranks run the same operation again and again, until a signal ends one of them halfway through its part.
class Job {
 public:
  Job(const Subject& subject, int victim, int signal) : subject_(subject), victim_(victim), signal_(signal) {
    const Meeting meeting(subject.medium, kRanks);
    ForkedRanks ranks(kRanks, [&](int rank) {
      Tripwire tripwire;
      return run_rank(
          watched_engine(meeting, rank, tripwire), [&](Member& member) { work(member, tripwire); }, subject.hosts);
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank != victim) exit_codes_.push_back(ranks.wait(rank));
    }
    if (signal == SIGKILL) {
      EXPECT_EQ(ranks.wait(victim), 1000 + SIGKILL);
    }
    if (children_[0] > 0) ::kill(children_[0], SIGKILL);
  }

  const std::vector<int>& exit_codes() const { return exit_codes_; }
  const End& end() const { return end_[0]; }
  const Notice& notice(int rank) const { return notices_[static_cast<std::size_t>(rank)]; }
  /// In the part that the operation is of, by rank in the world.
  const Notice& notice_in_part(int rank) const { return notices_in_part_[static_cast<std::size_t>(rank)]; }

 private:
  void work(const Member& member, Tripwire& tripwire) const {
    const World& world = member.world;
    if (!subject_.hosts.empty()) {
      EXPECT_EQ(world.hosts(), subject_.hosts);
      tripwire.count_only(far_from(world.rank()));
    }
    if (subject_.algorithm == kMessages) {
      std::vector<float> values(2 * kMessageElements);
      const auto operation = [&](std::chrono::milliseconds deadline) { pass_round(world, values, deadline); };
      return repeat(world, member, tripwire, operation, notices_);
    }
    if (subject_.in_part) return work_in_part(member, tripwire);
    work_in(world, member, tripwire, notices_);
  }

  /// Who has been told there what happened goes on to the world, where all hear of it.
  void work_in_part(const Member& member, Tripwire& tripwire) const {
    const World& world = member.world;
    const bool is_in = world.rank() != kOutsider;
    const Group part = world.split(is_in ? 1 : 0, -world.rank());
    if (is_in) {
      EXPECT_EQ(part.rank(), kInPart.at(static_cast<std::size_t>(world.rank())));
      work_in(part, member, tripwire, notices_in_part_);
    }
    try {
      world.barrier({.timeout = is_in && signal_ == SIGSTOP ? kDeadline : kNoDeadline}).wait();
    } catch (const Error& error) {
      note(error, notices_[static_cast<std::size_t>(world.rank())]);
    }
  }

  void work_in(const Group& group, const Member& member, Tripwire& tripwire, const SharedArray<Notice>& notices) const {
    const Algorithm algorithm = find_algorithm(subject_.algorithm);
    const Facts& facts = facts_of(subject_.collective.value_or(algorithm.collectives.front()));
    const int root = signal_ == SIGSTOP && subject_.collective && has_root(facts.collective) ? victim_ : 0;
    const Case one{.collective = facts.collective,
                   .algorithm = algorithm.name,
                   .root = root,
                   .blocks = even_blocks(facts, kRanks, subject_.elements / (facts.in_blocks ? kRanks : 1)),
                   .registered = subject_.memory == Memory::kRegistered};
    MemberMemory memory(group, {one});
    const Buffer buffer{memory.of(one), subject_.elements, DataType::kFloat32};
    const auto* const input = static_cast<const float*>(buffer.data) + subject_.elements;
    int rounds = 0;
    const auto operation = [&](std::chrono::milliseconds deadline) {
      const OperationOptions options{
          .algorithm = algorithm.name, .timeout = deadline, .in_background = subject_.in_background};
      for (int i = 0; i < subject_.times; ++i) {
        if (subject_.in_background) await_absence(member.world.rank(), rounds);
        Pending pending = subject_.in_pairs ? group.all_to_all_v(input, buffer, uneven_pairs(), options)
                                            : facts.start(group, one, input, buffer, options);
        if (subject_.in_background) stay_away(member.world.rank(), rounds++);
        pending.wait();
      }
    };
    repeat(group, member, tripwire, operation, notices);
  }

  /// The victim asks first, so that it can move little itself.
  void await_absence(int rank, int round) const {
    while (rank != victim_ && absences_[0] <= round) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  /// In the first round nobody ends.
  void stay_away(int rank, int round) const {
    if (rank == victim_) ++absences_[0];
    const bool is_over = rank == victim_ && round > 0;
    std::this_thread::sleep_for(is_over ? kNoDeadline : subject_.away.at(static_cast<std::size_t>(rank)));
  }

  void pass_round(const World& world, std::vector<float>& values, std::chrono::milliseconds deadline) const {
    const int count = messages_in_round(subject_.medium);
    const int next = (world.rank() + 1) % kRanks;
    const int before = (world.rank() + kRanks - 1) % kRanks;
    float* const received = values.data() + kMessageElements;
    std::vector<Pending> sends;  // which go on while the rank waits for what it receives
    for (int i = 0; i < count; ++i) {
      sends.push_back(world.send(buffer_of(values.data(), kMessageElements), next, {.timeout = kNoDeadline}));
    }
    for (int i = 0; i < count; ++i) {
      world.receive(buffer_of(received, kMessageElements), before, {.timeout = deadline}).wait();
    }
    for (Pending& send : sends) send.wait();
  }

  /// The ranks of other hosts.
  std::vector<int> far_from(int rank) const {
    std::vector<int> far;
    for (int other = 0; other < static_cast<int>(subject_.hosts.size()); ++other) {
      if (subject_.hosts.at(static_cast<std::size_t>(other)) != subject_.hosts.at(static_cast<std::size_t>(rank))) {
        far.push_back(other);
      }
    }
    return far;
  }

  void leave_child() const {
    const pid_t child = ::fork();
    while (child == 0) ::pause();
    children_[0] = child;
  }

  /// Has the victim end in the middle of what follows, in which it moves `total`.
  void arm(const Member& member, Tripwire& tripwire, std::uint64_t total) const {
    const auto end = [this, total, &tripwire] { finish(tripwire.passed(), total); };
    if (subject_.hosts.empty() || subject_.medium == Medium::kTcp) {
      // An eighth of what it sends and receives is at most a quarter of either, and what is left of it far more than
      // the streams hold.
      return tripwire.arm(total / (subject_.algorithm == kMessages ? 8 : 2), end);
    }
    // A signal does not say whom a step was for: it is the next one after something from another host was moved.
    member.state.record_transfers([=, &tripwire, far = far_from(member.world.rank())](const ExecutedTransfer& done) {
      if (std::find(far.begin(), far.end(), done.transfer.from) != far.end()) tripwire.arm(1, end);
    });
  }

  /// Of the barrier behind each operation. Who waits for no message of the victim is told by who does.
  std::chrono::milliseconds deadline_of_barrier() const {
    if (signal_ != SIGSTOP || subject_.algorithm == kMessages) return kNoDeadline;
    return subject_.collective ? kLaterDeadline : kDeadline;
  }

  void repeat(const Group& group, const Member& member, Tripwire& tripwire,
              const std::function<void(std::chrono::milliseconds)>& operation,
              const SharedArray<Notice>& notices) const {
    const int rank = member.world.rank();
    const std::uint64_t before = tripwire.passed();
    operation(kNoDeadline);
    const std::uint64_t total = tripwire.passed() - before;
    const auto deadline = signal_ == SIGSTOP ? kDeadline : kNoDeadline;
    try {
      group.barrier().wait();  // the victim may be past it, and dead, before others are
      if (rank == victim_ && subject_.leaves_child) leave_child();
      if (rank == victim_) arm(member, tripwire, total);
      while (true) {
        operation(deadline);
        group.barrier({.timeout = deadline_of_barrier()}).wait();
      }
    } catch (const Error& error) {
      note(error, notices[static_cast<std::size_t>(rank)]);
    }
  }

  static void note(const Error& error, Notice& notice) {
    notice = {now_us(), error.peer(), error.code(), {}};
    std::strncpy(notice.text.data(), error.what(), notice.text.size() - 1);
  }

  void finish(std::uint64_t passed, std::uint64_t total) const {
    end_[0] = {passed, total, now_us(), ::gettid() != ::getpid()};
    std::raise(signal_);
  }

  Subject subject_;
  int victim_;
  int signal_;
  SharedArray<End> end_{1};
  SharedArray<std::atomic<int>> absences_{1};  ///< of the victim
  SharedArray<pid_t> children_{1};             ///< of the victim
  SharedArray<Notice> notices_{kRanks};
  SharedArray<Notice> notices_in_part_{kRanks};
  std::vector<int> exit_codes_;
};

class Deaths : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    if (const std::string why = why_not({GetParam().medium, Home::kProcesses, kRanks}); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  static void expect_death_told(const Job& job, const Notice& notice, int victim) {
    EXPECT_EQ(notice.code, ErrorCode::kPeerDied) << notice.text.data();
    EXPECT_EQ(notice.peer, victim) << notice.text.data();
    EXPECT_LT(notice.time - job.end().time, kSecond) << notice.text.data();
  }

  static void expect_stop_told(const Job& job, const Notice& notice, int victim, std::chrono::milliseconds deadline) {
    EXPECT_EQ(notice.code, ErrorCode::kTimeout) << notice.text.data();
    const auto in_operation = testing::HasSubstr("waited 1 s");
    if (GetParam().collective) {
      EXPECT_THAT(notice.text.data(), testing::AnyOf(in_operation, testing::HasSubstr("waited 1.5 s")));
    } else {
      EXPECT_THAT(notice.text.data(), in_operation);
    }
    EXPECT_EQ(notice.peer, victim) << notice.text.data();
    EXPECT_LT(notice.time - job.end().time, kSecond + 1000 * deadline.count()) << notice.text.data();
  }
};
INSTANTIATE_TEST_SUITE_P(InTheMiddle, Deaths, testing::ValuesIn(every_subject()), testing::PrintToStringParamName());

}  // namespace

/// The promise is one second.
TEST_P(Deaths, AKilledRankIsNamedOnEverySurvivorWithinASecond) {
  for (const int victim : {0, kRanks - 1}) {
    SCOPED_TRACE(testing::Message() << "rank " << victim << " is killed");
    const Job job(GetParam(), victim, SIGKILL);
    EXPECT_THAT(job.exit_codes(), testing::Each(0));
    EXPECT_GT(job.end().passed, 0U);
    EXPECT_LT(job.end().passed, job.end().total) << "it was over before its death";
    EXPECT_EQ(job.end().in_background, GetParam().in_background);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == victim) continue;
      expect_death_told(job, job.notice(rank), victim);
      if (!GetParam().in_part || rank == kOutsider) continue;
      expect_death_told(job, job.notice_in_part(rank), kInPart.at(static_cast<std::size_t>(victim)));
    }
  }
}

/// The deadline is the operation's; what follows it is told within a second. In a part of the world it passes first in
/// the part, then in the world.
TEST_P(Deaths, AStoppedRankIsAnErrorOnEverySurvivorAtTheDeadline) {
  constexpr int kVictim = 1;
  const Job job(GetParam(), kVictim, SIGSTOP);
  EXPECT_THAT(job.exit_codes(), testing::Each(0));
  EXPECT_GT(job.end().passed, 0U);
  EXPECT_LT(job.end().passed, job.end().total) << "it was over before it was stopped";
  EXPECT_EQ(job.end().in_background, GetParam().in_background);
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    const std::chrono::milliseconds deadline = GetParam().collective ? kLaterDeadline : kDeadline;
    const bool in_part = GetParam().in_part;
    expect_stop_told(job, job.notice(rank), kVictim, in_part ? deadline + kDeadline : deadline);
    if (!in_part || rank == kOutsider) continue;
    expect_stop_told(job, job.notice_in_part(rank), kInPart.at(static_cast<std::size_t>(kVictim)), deadline);
  }
}

/// Whose thread waits keeps nobody, though it computes for longer than the deadline of a rank that waits for it alone.
TEST(DeathsBehindOneThatComputes, TheStoppedRankIsNamed) {
  if (const std::string why = why_not({Medium::kTcp, Home::kProcesses, kRanks}); !why.empty()) GTEST_SKIP() << why;
  constexpr int kVictim = 1;
  Subject subject{.medium = Medium::kTcp, .memory = Memory::kPlain, .algorithm = "ring"};
  subject.collective = Collective::kAllReduce;
  subject.in_background = true;
  // Rank 3, which hears nothing of rank 1, is the first to give up.
  subject.away = {kAway, kAway, 3 * kDeadline, std::chrono::milliseconds(0)};
  const Job job(subject, kVictim, SIGSTOP);
  EXPECT_THAT(job.exit_codes(), testing::Each(0));
  for (const int rank : {0, 2, 3}) {
    EXPECT_EQ(job.notice(rank).code, ErrorCode::kTimeout) << job.notice(rank).text.data();
    EXPECT_EQ(job.notice(rank).peer, kVictim) << job.notice(rank).text.data();
  }
}

}  // namespace lockstep::conformance
