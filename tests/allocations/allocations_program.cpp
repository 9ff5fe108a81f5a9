// An operation whose shape was seen before allocates nothing and makes no plan: every operator new of the process is
// counted, with threads as ranks. Prints a line for each promise; exits 1 where one is not kept.
#include "algorithms/catalog.h"
#include "base/sanitizers_for_tests.h"
#include "group/thread_world.h"

#include <fmt/format.h>
#include <lockstep/comm.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

std::atomic<long> allocations{0};

void* counted_or_null(std::size_t bytes) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes);
}

void* counted(std::size_t bytes) {
  void* memory = counted_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

// The header comes with clang.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();

namespace {

using lockstep::buffer_of;
using lockstep::Collective;
using lockstep::Group;
using lockstep::OperationOptions;
using lockstep::ReduceOp;
using lockstep::World;

constexpr int kRanks = 3;

/// Runs the function on kRanks ranks.
using Ranks = std::function<void(const std::function<void(World&)>&)>;
/// What each of them does; with memory that is registered, and with other.
using Work = std::function<void(const Group&, float* registered, float* plain)>;

/// AddressSanitizer's own allocator stands for the C library's, of which mallinfo2 must then not be asked.
std::size_t heap_bytes() {
  if constexpr (lockstep::testing_support::kUnderAddressSanitizer) return __sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

/// What the process has from the C library now.
struct Usage {
  long allocations;
  std::size_t bytes;
};

Usage usage() { return {allocations.load(), heap_bytes()}; }

/// Does `work` twice on each rank, in a group of its own; what was allocated meanwhile, the second time, on all of
/// them.
Usage second_time(const Ranks& ranks, const Work& work, std::size_t elements) {
  Usage grown{};
  ranks([&](World& world) {
    const Group group = world.split(0, world.size() - world.rank());
    const lockstep::RegisteredMemory memory = group.allocate(elements * sizeof(float));
    std::vector<float> plain(elements);
    work(group, static_cast<float*>(memory.data()), plain.data());
    group.barrier().wait();  // in which a rank may still be, for the first time, when another has left it
    group.barrier().wait();
    const Usage before = usage();
    group.barrier().wait();
    work(group, static_cast<float*>(memory.data()), plain.data());
    group.barrier().wait();
    if (group.rank() == 0) {
      const Usage after = usage();
      grown = {after.allocations - before.allocations, after.bytes > before.bytes ? after.bytes - before.bytes : 0};
    }
    group.barrier().wait();
  });
  return grown;
}

bool keeps(const std::string& promise, const Usage& grown) {
  const bool kept = grown.allocations == 0 && grown.bytes == 0;
  fmt::print("{}: {}, {} allocations, {} bytes more\n", kept ? "kept" : "BROKEN", promise, grown.allocations,
             grown.bytes);
  return kept;
}

constexpr std::size_t kElements = 1000 * 131;
constexpr std::size_t kFourMebibytes = (std::size_t{4} << 20) / sizeof(float);

void every_collective_by(const OperationOptions& how, const Group& group, float* registered, float* plain) {
  static const std::vector<std::size_t> kBlocks{1, 900, 98};
  static const std::vector<std::size_t> kPairs(kRanks * kRanks, 111);
  for (int i = 0; i < 10; ++i) {
    for (float* data : {registered, plain}) {
      group.all_reduce(buffer_of(data, 999), ReduceOp::kSum, how).wait();
      group.reduce_scatter(buffer_of(data, 999), ReduceOp::kSum, how).wait();
      group.reduce_scatter_v(buffer_of(data, 999), kBlocks, ReduceOp::kSum, how).wait();
      group.all_gather(buffer_of(data, 999), how).wait();
      group.all_gather_v(buffer_of(data, 999), kBlocks, how).wait();
      group.broadcast(buffer_of(data, 7), 1, how).wait();
      group.reduce(buffer_of(data, 999), 1, ReduceOp::kSum, how).wait();
      group.gather(buffer_of(data, 999), 2, how).wait();
      group.gather_v(buffer_of(data, 999), kBlocks, 2, how).wait();
      group.scatter(buffer_of(data, 999), 0, how).wait();
      group.scatter_v(buffer_of(data, 999), kBlocks, 0, how).wait();
      group.all_to_all(data, buffer_of(data + 999, 999), how).wait();
      group.all_to_all_v(data, buffer_of(data + 999, 333), kPairs, how).wait();
      group.barrier(how).wait();
    }
  }
}

void every_collective(const Group& group, float* registered, float* plain) {
  every_collective_by({}, group, registered, plain);
}

void every_canonical_collective(const Group& group, float* registered, float* plain) {
  every_collective_by({.reduction = lockstep::Reduction::kCanonical}, group, registered, plain);
}

void every_collective_in_background(const Group& group, float* registered, float* plain) {
  every_collective_by({.in_background = true}, group, registered, plain);
}

/// With the options that ask for it: a caller who makes those anew for each call allocates a long name.
struct Named {
  Collective collective;
  OperationOptions how;
};

std::vector<Named> every_algorithm_of_each() {
  std::vector<Named> all;
  for (const lockstep::Algorithm& algorithm : lockstep::algorithms()) {
    for (const Collective collective : algorithm.collectives)
      all.push_back({collective, {.algorithm = algorithm.name}});
  }
  all.push_back({Collective::kAllReduce, {.algorithm = "hierarchical:direct,ring"}});
  return all;
}

lockstep::Pending start(const Group& group, const Named& named, float* data, std::size_t count) {
  const lockstep::Buffer buffer = buffer_of(data, count);
  switch (named.collective) {
    case Collective::kAllReduce: return group.all_reduce(buffer, ReduceOp::kSum, named.how);
    case Collective::kReduceScatter: return group.reduce_scatter(buffer, ReduceOp::kSum, named.how);
    case Collective::kAllGather: return group.all_gather(buffer, named.how);
    case Collective::kBroadcast: return group.broadcast(buffer, 1, named.how);
    case Collective::kReduce: return group.reduce(buffer, 1, ReduceOp::kSum, named.how);
    case Collective::kGather: return group.gather(buffer, 2, named.how);
    case Collective::kScatter: return group.scatter(buffer, 0, named.how);
    case Collective::kAllToAll: return group.all_to_all(data + count, buffer, named.how);
    case Collective::kBarrier: return group.barrier(named.how);
  }
  return {};
}

/// Those that go in letters, where there are such, and those of several pieces.
void every_algorithm(const Group& group, float* registered, float* plain) {
  static const std::vector<Named> kAll = every_algorithm_of_each();
  constexpr std::size_t kHalf = kElements / 2 / kRanks * kRanks;  // an all_to_all takes two buffers
  for (int i = 0; i < 3; ++i) {
    for (const Named& named : kAll) {
      for (const std::size_t count : {std::size_t{9}, kHalf}) {
        for (float* data : {registered, plain}) start(group, named, data, count).wait();
      }
    }
  }
}

void four_mebibytes(const Group& group, float* registered, float* plain) {
  for (int i = 0; i < 3; ++i) {
    for (float* data : {registered, plain}) group.all_reduce(buffer_of(data, kFourMebibytes)).wait();
  }
}

/// By one that never waits.
void asking(const Group& group, float* registered, float* plain) {
  for (int i = 0; i < 10; ++i) {
    for (float* data : {registered, plain}) {
      lockstep::Pending pending = group.all_reduce(buffer_of(data, kElements));
      while (!pending.done()) std::this_thread::yield();
    }
  }
}

/// Several are under way when the first is waited for.
void several_in_background(const Group& group, float* registered, float* plain) {
  const OperationOptions how{.in_background = true};
  for (int i = 0; i < 10; ++i) {
    lockstep::Pending first = group.all_reduce(buffer_of(registered, kElements), ReduceOp::kSum, how);
    lockstep::Pending second = group.all_reduce(buffer_of(plain, kElements), ReduceOp::kSum, how);
    first.wait();
    second.wait();
  }
}

void thousand_sizes(const Group& group, float* registered, float* plain) {
  for (std::size_t i = 1; i <= 1000; ++i) {
    group.all_reduce(buffer_of(registered, i * 131)).wait();
    group.all_reduce(buffer_of(plain, i * 131)).wait();
  }
}

void messages(const Group& group, float* registered, float* plain) {
  const int next = (group.rank() + 1) % group.size();
  const int before = (group.rank() + group.size() - 1) % group.size();
  for (int i = 0; i < 10; ++i) {
    lockstep::Pending sending = group.send(buffer_of(registered, 99'999), next);
    group.receive(buffer_of(plain, 99'999), before).wait();
    sending.wait();
  }
}

void in_shared_memory(const std::function<void(World&)>& work) { lockstep::run_threads(kRanks, work); }
void over_tcp(const std::function<void(World&)>& work) { lockstep::detail::run_threads_over_tcp(kRanks, work); }

}  // namespace

int main() {
  // Called as functions, so that no compiler leaves them out.
  const auto one_allocation = [](const Group&, float*, float*) { ::operator delete(::operator new(100)); };
  if (second_time(in_shared_memory, one_allocation, 1).allocations != kRanks) {
    fmt::print("BROKEN: the counter does not see what is allocated\n");
    return 1;
  }
  bool kept = true;
  for (const auto& [where, ranks] :
       {std::pair<const char*, Ranks>{"shared memory", in_shared_memory}, {"TCP", over_tcp}}) {
    for (const auto& [what, work] : {std::pair<const char*, Work>{"every collective", every_collective},
                                     {"every collective, canonical", every_canonical_collective},
                                     {"every collective, in background", every_collective_in_background},
                                     {"several in background", several_in_background},
                                     {"every algorithm", every_algorithm},
                                     {"4 MiB", four_mebibytes},
                                     {"whoever asks and never waits", asking},
                                     {"messages", messages},
                                     {"1,000 sizes", thousand_sizes}}) {
      kept = keeps(fmt::format("{} again, over {}", what, where), second_time(ranks, work, kFourMebibytes)) && kept;
    }
  }
  return kept ? 0 : 1;
}
