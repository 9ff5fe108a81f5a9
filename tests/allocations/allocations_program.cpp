// An operation whose shape was seen before allocates nothing and makes no plan: every operator new of the process is
// counted, with threads as ranks. Prints a line for each promise; exits 1 where one is not kept.
#include <fmt/format.h>
#include <lockstep/comm.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <vector>

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

#ifdef __SANITIZE_ADDRESS__
// Its own allocator stands for the C library's, of which mallinfo2 must then not be asked. The header comes with clang.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
static std::size_t heap_bytes() { return __sanitizer_get_current_allocated_bytes(); }
#else
static std::size_t heap_bytes() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}
#endif

namespace {

using lockstep::buffer_of;
using lockstep::World;

/// What the process has from the C library now.
struct Usage {
  long allocations;
  std::size_t bytes;
};

Usage usage() { return {allocations.load(), heap_bytes()}; }

/// Does `work` twice on each of three ranks; what was allocated meanwhile, the second time, on all of them.
Usage second_time(const std::function<void(World&, float* registered, float* plain)>& work, std::size_t elements) {
  Usage grown{};
  lockstep::run_threads(3, [&](World& world) {
    const lockstep::RegisteredMemory memory = world.allocate(elements * sizeof(float));
    std::vector<float> plain(elements);
    work(world, static_cast<float*>(memory.data()), plain.data());
    world.barrier().wait();
    const Usage before = usage();
    world.barrier().wait();
    work(world, static_cast<float*>(memory.data()), plain.data());
    world.barrier().wait();
    if (world.rank() == 0) {
      const Usage after = usage();
      grown = {after.allocations - before.allocations, after.bytes > before.bytes ? after.bytes - before.bytes : 0};
    }
    world.barrier().wait();
  });
  return grown;
}

bool keeps(const char* promise, const Usage& grown) {
  const bool kept = grown.allocations == 0 && grown.bytes == 0;
  fmt::print("{}: {}, {} allocations, {} bytes more\n", kept ? "kept" : "BROKEN", promise, grown.allocations,
             grown.bytes);
  return kept;
}

}  // namespace

int main() {
  constexpr std::size_t kElements = 1000 * 131;
  const auto one_shape = [](World& world, float* registered, float* plain) {
    for (int i = 0; i < 10; ++i) {
      world.all_reduce(buffer_of(registered, 999)).wait();
      world.all_reduce(buffer_of(plain, 999)).wait();
      world.all_gather(buffer_of(registered, 999)).wait();
      world.broadcast(buffer_of(plain, 7), 1).wait();
    }
  };
  const auto thousand_sizes = [](World& world, float* registered, float* plain) {
    for (std::size_t i = 1; i <= 1000; ++i) {
      world.all_reduce(buffer_of(registered, i * 131)).wait();
      world.all_reduce(buffer_of(plain, i * 131)).wait();
    }
  };
  const auto messages = [](World& world, float* registered, float* plain) {
    const int next = (world.rank() + 1) % world.size();
    const int before = (world.rank() + world.size() - 1) % world.size();
    for (int i = 0; i < 10; ++i) {
      lockstep::Pending sending = world.send(buffer_of(registered, 99'999), next);
      world.receive(buffer_of(plain, 99'999), before).wait();
      sending.wait();
    }
  };
  // Called as functions, so that no compiler leaves them out.
  const auto one_allocation = [](World&, float*, float*) { ::operator delete(::operator new(100)); };
  if (second_time(one_allocation, 1).allocations != 3) {  // one on each rank
    fmt::print("BROKEN: the counter does not see what is allocated\n");
    return 1;
  }
  bool kept = keeps("the same shapes again", second_time(one_shape, kElements));
  kept = keeps("messages again", second_time(messages, kElements)) && kept;
  kept = keeps("1,000 sizes again", second_time(thousand_sizes, kElements)) && kept;
  return kept ? 0 : 1;
}
