// A rank under mpirun for the tests: does what its first argument says, and prints what came of it. It is a program
// that uses MPI itself.
#include "algorithms/catalog.h"
#include "group/group_state.h"
#include "group/opened.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/member_memory.h"
#include "tests/conformance/transfer_hash.h"
#include "transport/mpi/process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/comm.h>
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using lockstep::buffer_of;
using lockstep::World;
using namespace lockstep::conformance;

/// Against the oracle; returns how many there were.
std::size_t try_all(const World& world, const std::vector<Case>& cases) {
  const Inputs inputs(world.size());
  MemberMemory memory(world, cases);
  for (const Case& one : cases) {
    Trial trial(world, inputs, one, memory.of(one));
    trial.start();
    trial.finish();
  }
  return cases.size();
}

/// Every collective by every algorithm, in every type, operator and size of the conformance suite.
void conform() {
  World world = World::from_env();
  std::size_t done = 0;
  for (const Facts& facts : all_facts()) {
    if (facts.collective == lockstep::Collective::kBarrier) continue;
    done += try_all(world, all_cases(facts, world.size(), false));
  }
  for (const std::string& name : names_for(lockstep::Collective::kBarrier)) world.barrier({.algorithm = name}).wait();
  fmt::print("rank {} of {}: {} right\n", world.rank(), world.size(), done);
}

/// Canonical sums of values whose order shows, by every algorithm that is admitted: the bits of the one tree, which are
/// those over memory and TCP.
void canonical() {
  World world = World::from_env();
  const Inputs inputs(world.size());
  const std::vector<Case> cases = canonical_cases(world.size(), false);
  MemberMemory memory(world, cases);
  std::size_t done = 0;
  for (const Case& one : cases) {
    Trial trial(world, inputs, one, memory.of(one));
    if (!trial.start_if_admitted()) continue;
    trial.finish();
    ++done;
  }
  fmt::print("rank {} of {}: {} right\n", world.rank(), world.size(), done);
}

/// Every all_reduce in every size, in the type that is summed in itself and one that is not: for ranks of which many
/// share a core, with whom all of it takes long.
void conform_in_all_reduces() {
  World world = World::from_env();
  const Facts& facts = facts_of(lockstep::Collective::kAllReduce);
  std::vector<Case> cases = small_cases(facts, world.size(), false);
  std::erase_if(cases, [](const Case& one) { return one.op != lockstep::ReduceOp::kSum; });
  const std::vector<Case> large = large_cases(facts, world.size(), false);
  cases.insert(cases.end(), large.begin(), large.end());
  std::erase_if(cases, [](const Case& one) {
    return one.dtype != lockstep::DataType::kFloat32 && one.dtype != lockstep::DataType::kBFloat16;
  });
  fmt::print("rank {} of {}: {} right\n", world.rank(), world.size(), try_all(world, cases));
}

/// What ran of every algorithm is its schedule: the ranks' transfers add up to the schedule's.
void follow_schedules() {
  World world = World::from_env();
  lockstep::detail::GroupState& state = lockstep::detail::Opened(world).state();
  int done = 0;
  for (const Facts& facts : all_facts()) {
    for (const std::string& name : names_for(facts.collective)) {
      const Case one{.collective = facts.collective, .root = world.size() - 1, .blocks = {}};
      std::vector<float> values(facts.collective == lockstep::Collective::kBarrier ? 0 : 1200);
      std::vector<float> input(values.size());
      std::uint64_t hashes = 0;
      state.record_transfers(
          [&](const lockstep::ExecutedTransfer& transfer) { hashes += hash_of(transfer.step, transfer.transfer); });
      facts.start(world, one, input.data(), buffer_of(values), {.algorithm = name}).wait();
      state.record_transfers({});
      auto ran = static_cast<std::int64_t>(hashes);  // of ours; over all ranks it wraps around, as hashes do
      world.all_reduce(buffer_of(&ran, 1)).wait();
      const auto planned = static_cast<std::int64_t>(hash_of(lockstep::find_algorithm(name).build(
          {.collective = facts.collective, .ranks = world.size(), .root = one.root, .hosts = world.hosts()})));
      if (ran != planned) throw std::runtime_error(name + " did not run as its schedule says");
      ++done;
    }
  }
  fmt::print("rank {}: {} schedules\n", world.rank(), done);
}

/// MPI has no 16-bit floats; its least and greatest of floats are not ours where NaNs are among them; and Open MPI's
/// sum of bytes that is above 255 is 255.
bool is_mpis_too(const Case& one) {
  if (!facts_of(one.collective).sums()) return true;
  const bool is_extreme = one.op == lockstep::ReduceOp::kMin || one.op == lockstep::ReduceOp::kMax;
  if (is_extreme) return !is_floating(one.dtype);
  return lockstep::size_of(one.dtype) >= 4;
}

/// Every collective by MPI's own, in every type, operator and size, in the world and in a group of it.
void hand_over() {
  World world = World::from_env();
  const lockstep::Group reversed = world.split(0, -world.rank());
  std::size_t done = 0;
  for (const lockstep::Group& group : {static_cast<const lockstep::Group&>(world), reversed}) {
    const Inputs inputs(group.size());
    for (const Facts& facts : all_facts()) {
      if (facts.collective == lockstep::Collective::kBarrier) continue;
      std::vector<Case> cases = all_cases(facts, group.size(), false);
      const std::string any = cases.front().algorithm;
      std::erase_if(cases, [&](const Case& one) { return one.algorithm != any || !is_mpis_too(one); });
      MemberMemory memory(group, cases);
      for (Case& one : cases) {
        one.algorithm = "vendor";
        Trial trial(group, inputs, one, memory.of(one));
        trial.start();
        trial.finish();
      }
      done += cases.size();
    }
    group.barrier({.algorithm = "vendor"}).wait();
  }
  fmt::print("rank {} of {}: {} right\n", world.rank(), world.size(), done);
}

/// What MPI does not do, what is refused, and what ranks disagree about, by MPI's own collectives.
void hand_over_wrongly() {
  World world = World::from_env();
  std::vector<std::uint16_t> halves(10);
  const lockstep::Buffer buffer{halves.data(), halves.size(), lockstep::DataType::kBFloat16};
  const auto tried = [&](const lockstep::OperationOptions& options) {
    try {
      world.all_reduce(buffer, lockstep::ReduceOp::kSum, options).wait();
    } catch (const lockstep::Error& error) {
      fmt::print("refused: {}\n", error.what());
    }
  };
  tried({.algorithm = "vendor"});
  tried({.algorithm = "vendor", .reduction = lockstep::Reduction::kCanonical});
  std::vector<float> values(world.rank() == 0 ? 10 : 12);
  world.all_reduce(buffer_of(values), lockstep::ReduceOp::kSum, {.algorithm = "vendor"}).wait();
}

/// Buffers that MPI is not given, and one that nobody has room for.
void bring_wrong_memory() {
  const World world = World::from_env();
  std::vector<float> values(10, 1.0F);
  const auto tried = [&](const lockstep::Buffer& buffer) {
    try {
      world.all_reduce(buffer).wait();
    } catch (const lockstep::Error& error) {
      fmt::print("refused: {}\n", error.what());
    }
  };
  const auto type = lockstep::data_type_of<float>();
  tried({values.data(), values.size(), type, lockstep::Device::kCuda});
  tried({values.data(), values.size(), type, lockstep::Device::kHost, values.data()});
  for (const std::size_t bytes : {std::size_t{1} << 60, SIZE_MAX}) {
    try {
      (void)world.allocate(bytes);
    } catch (const lockstep::Error& error) {
      fmt::print("refused: {}\n", error.what());
    }
  }
  world.all_reduce(buffer_of(values)).wait();
  fmt::print("sum {}\n", values[9]);
}

/// Groups side by side, messages past a collective, and a second world.
void parts() {
  std::int64_t sum = 0;
  for (int round = 0; round < 2; ++round) {
    World world = World::from_env();
    const lockstep::Group half = world.split(world.rank() % 2, -world.rank());
    std::vector<std::int64_t> own(1000, world.rank());
    std::vector<std::int64_t> others(1000, world.rank());
    lockstep::Pending in_half = half.all_reduce(buffer_of(own));
    lockstep::Pending in_world = world.all_reduce(buffer_of(others));
    std::vector<float> passed(300'000, static_cast<float>(world.rank()));
    const int next = (world.rank() + 1) % world.size();
    const int last = (world.rank() + world.size() - 1) % world.size();
    std::vector<float> came(passed.size());
    lockstep::Pending out = world.send(buffer_of(passed), next);
    world.receive(buffer_of(came), last).wait();
    out.wait();
    in_world.wait();
    in_half.wait();
    if (came.front() != static_cast<float>(last) || came.back() != came.front()) std::exit(4);
    sum += own[999] * 1000 + others[0];
  }
  fmt::print("sum {}\n", sum);
}

/// For what is there at once, or never.
const lockstep::OperationOptions kInTime{.timeout = std::chrono::seconds(20)};

/// So many messages of these numbers, each of them gone before the next.
void send_numbers(const World& world, int to, int messages, std::size_t count) {
  for (int number = 1; number <= messages; ++number) {
    std::vector<std::int32_t> numbers(count, number);
    world.send(buffer_of(numbers), to, kInTime).wait();
  }
}

/// Returns the sum of the first and last number of each.
int receive_numbers(const World& world, int from, int messages, std::size_t count) {
  int sum = 0;
  std::vector<std::int32_t> numbers(count);
  for (int message = 0; message < messages; ++message) {
    world.receive(buffer_of(numbers), from, kInTime).wait();
    sum += numbers.front() + numbers.back();
  }
  return sum;
}

/// The last two ranks send to each other before they receive; to the others nobody says anything.
void send_first() {
  const World world = World::from_env();
  const int peer = 2 * world.size() - 3 - world.rank();
  if (peer >= world.size()) return;
  for (const auto& [messages, count] : {std::pair{6, 1}, {1, 4}, {3, 10'000}, {6000, 1}}) {
    send_numbers(world, peer, messages, static_cast<std::size_t>(count));
    fmt::print("sum {}\n", receive_numbers(world, peer, messages, static_cast<std::size_t>(count)));
  }
}

/// What is sent before a collective is received behind it.
void send_across_a_barrier() {
  const World world = World::from_env();
  if (world.rank() == 1) send_numbers(world, 2, 6, 1);
  world.barrier(kInTime).wait();
  if (world.rank() == 2) fmt::print("sum {}\n", receive_numbers(world, 1, 6, 1));
}

/// The first rank sleeps, far from MPI, until the second has received what it sent.
void send_and_sleep() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const World world = World::from_env();
  std::vector<std::int32_t> numbers(25'000, ::getpid());
  world.barrier().wait();
  if (world.rank() == 0) {
    world.send(buffer_of(numbers), 1, kInTime).wait();
    const timespec longest{20, 0};
    fmt::print("{}\n", ::sigtimedwait(&signals, nullptr, &longest) == SIGUSR1 ? "woken" : "slept for nothing");
  } else {
    world.receive(buffer_of(numbers), 0, kInTime).wait();
    ::kill(numbers.back(), SIGUSR1);
  }
}

/// The first rank is gone when the others receive what it sent, but for the last message.
void leave_messages_behind() {
  {
    const World world = World::from_env();
    if (world.rank() == 0) send_numbers(world, 1, 4, 5000);
    world.barrier().wait();
    if (world.rank() == 1) fmt::print("sum {}\n", receive_numbers(world, 0, 3, 5000));
  }
  fmt::print("the World is gone\n");
}

/// Two threads ask MPI for what it refuses, each for something else, and read why.
void fail_in_two_threads() {
  const lockstep::mpi::Process process{std::chrono::seconds(20)};
  const auto refused = [&](int from, int tag, const std::string& why) {
    for (int times = 0; times < 20'000; ++times) {
      std::array<std::byte, 8> room{};
      lockstep::mpi::Request request;
      std::string said;
      try {
        process.receive(request, room, from, tag);
      } catch (const lockstep::Error& error) {
        said = error.what();
      }
      if (said.find(why) == std::string::npos) {
        fmt::print("not what was asked: {}\n", said);
        return;
      }
    }
    fmt::print("always {}\n", why);
  };
  std::thread other(refused, 1000, 1, "MPI_ERR_RANK");
  refused(0, -1000, "MPI_ERR_TAG");
  other.join();
}

/// Of a program that starts and ends MPI itself, at this level.
void beside(int level) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, level, &provided);
  try {
    World world = World::from_env();
    std::vector<std::int64_t> values(10, 1);
    world.all_reduce(buffer_of(values)).wait();
    fmt::print("sum {}\n", values[9]);
  } catch (const lockstep::Error& error) {
    fmt::print("error {}: {}\n", static_cast<int>(error.code()), error.what());
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  int one = 1;
  int all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  fmt::print("finalized {}, MPI still sums to {}\n", finalized, all);
  MPI_Finalize();
}

void beside_serialized() { beside(MPI_THREAD_SERIALIZED); }
void beside_single() { beside(MPI_THREAD_SINGLE); }

/// Makes a world when MPI is over.
void come_too_late() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  MPI_Finalize();
  const World world = World::from_env();
}

/// Starts MPI, and nothing else, for far longer than the others wait.
void stay_away() {
  MPI_Init(nullptr, nullptr);
  ::sleep(60);
  fmt::print("stayed away\n");
}

/// The last rank leaves before the others' second operation.
void leave() {
  World world = World::from_env();
  std::vector<float> values(100'000, 1);
  world.all_reduce(buffer_of(values)).wait();
  if (world.rank() == world.size() - 1) return;
  world.all_reduce(buffer_of(values), lockstep::ReduceOp::kSum, {.purpose = "gradients of layer1"}).wait();
}

/// The last rank is stopped with chunks under way that the first has begun to take. That one's World goes, and so does
/// its process.
void stop_while_sending() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also where the test fails
  {
    World world = World::from_env();
    std::vector<float> values(1 << 20, 1);
    if (world.rank() == world.size() - 1) {
      const lockstep::Pending out = world.send(buffer_of(values), 0);
      ::raise(SIGSTOP);
    }
    try {
      world.receive(buffer_of(values), world.size() - 1, {.timeout = std::chrono::seconds(1)}).wait();
    } catch (const lockstep::Error& error) {
      fmt::print("noticed peer {}: {}\n", error.peer(), error.what());
    }
  }
  fmt::print("the World is gone\n");
}

/// The last rank ends its process while the others wait for it.
void end() {
  World world = World::from_env();
  if (world.rank() == world.size() - 1) std::exit(7);
  world.barrier().wait();
}

/// The last rank throws.
void raise_error() {
  World world = World::from_env();
  if (world.rank() == world.size() - 1) throw std::runtime_error("the disk is on fire");
  world.barrier().wait();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> acts{{"conform", conform},
                                               {"canonical", canonical},
                                               {"conform_in_all_reduces", conform_in_all_reduces},
                                               {"follow_schedules", follow_schedules},
                                               {"hand_over", hand_over},
                                               {"hand_over_wrongly", hand_over_wrongly},
                                               {"bring_wrong_memory", bring_wrong_memory},
                                               {"parts", parts},
                                               {"send_first", send_first},
                                               {"send_across_a_barrier", send_across_a_barrier},
                                               {"send_and_sleep", send_and_sleep},
                                               {"leave_messages_behind", leave_messages_behind},
                                               {"fail_in_two_threads", fail_in_two_threads},
                                               {"beside_serialized", beside_serialized},
                                               {"beside_single", beside_single},
                                               {"come_too_late", come_too_late},
                                               {"stay_away", stay_away},
                                               {"leave", leave},
                                               {"stop_while_sending", stop_while_sending},
                                               {"end", end},
                                               {"raise", raise_error}};
  try {
    acts.at(argc > 1 ? argv[1] : "")();
    return 0;
  } catch (const lockstep::Error& error) {
    fmt::print("noticed peer {} code {}: {}\n", error.peer(), static_cast<int>(error.code()), error.what());
    return 3;
  } catch (const std::exception& error) {
    fmt::print("failed: {}\n", error.what());
    return 4;
  }
}
