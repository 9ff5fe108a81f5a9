// What training takes of memory at each stage of sharding: predicted, and measured over an iteration; at stage 3 also
// while the model is built.
//   lockstep run -n 4 ./sharded_memory STAGE [LIMIT]
// LIMIT, in MiB, is what the process may map (RLIMIT_AS) beyond what it has when it starts to build the model.
#include <fcntl.h>
#include <lockstep/train.h>
#include <malloc.h>
#include <sys/resource.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "arguments.h"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace {

constexpr std::size_t kCounted = std::size_t{64} << 10;  // what is smaller is no tensor that matters
std::atomic<std::size_t> allocated{0};
std::atomic<std::size_t> most_allocated{0};
std::atomic<std::size_t> most_resident{0};
std::atomic<bool> watching{false};

/// This process's share of the memory that it uses, but for files (libraries, whose share depends on who else runs
/// programs with libtorch): what several processes have mapped is divided among them.
std::size_t proportional_bytes() {
  char text[4096] = {};
  const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, text, sizeof(text) - 1) < 0) text[0] = '\0';
  close(file);
  std::size_t kib = 0;
  for (const char* kind : {"\nPss_Anon:", "\nPss_Shmem:"}) {
    const char* line = std::strstr(text, kind);
    if (line != nullptr) kib += std::strtoull(line + std::strlen(kind), nullptr, 10);
  }
  return kib << 10;
}

void look() {
  if (watching) most_resident = std::max(most_resident.load(), proportional_bytes());
}

void* counted(void* memory) {
  const std::size_t usable = memory == nullptr ? 0 : malloc_usable_size(memory);
  if (usable < kCounted) return memory;
  const std::size_t now = allocated += usable;
  if (now > most_allocated) most_allocated = now;
  return memory;
}

void discount(void* memory) {
  const std::size_t usable = memory == nullptr ? 0 : malloc_usable_size(memory);
  if (usable < kCounted) return;
  if (allocated > most_allocated / 100 * 99) look();  // what is freed has been written to by now
  allocated -= std::min(usable, allocated.load());
}

}  // namespace

// Every allocation of this program and of libtorch comes through here.
extern "C" {
void* malloc(std::size_t bytes) { return counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return counted(__libc_calloc(count, bytes)); }
void* memalign(std::size_t alignment, std::size_t bytes) { return counted(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void* realloc(void* memory, std::size_t bytes) {
  discount(memory);
  void* const moved = __libc_realloc(memory, bytes);
  return counted(moved == nullptr && bytes > 0 ? memory : moved) == nullptr ? nullptr : moved;
}
void free(void* memory) {
  discount(memory);
  __libc_free(memory);
}
}

namespace {

constexpr int kLayers = 48;
constexpr std::int64_t kWidth = 511;  // so that with its allocation a fourth of a layer just fills its pages
constexpr std::size_t kLayerParameters = kWidth * (kWidth + 1);
constexpr double kParameters = kLayers * kLayerParameters;

void limit_address_space(std::size_t more_mib) {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (more_mib << 20);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

/// Some iterations of a chain of layers, of which each is a block. The first one makes the optimizer's state; what is
/// measured are those after it. Returns the most bytes that were allocated, and registered, while the chain was built.
std::size_t train(lockstep::World& world, lockstep::Sharded& shard, int layers, std::int64_t width) {
  most_allocated = allocated.load();
  torch::nn::Sequential net;
  for (int i = 0; i < layers; ++i) net->push_back(shard.wrap(torch::nn::Linear(width, width)));
  shard.attach(*net);
  const std::size_t most_while_built = most_allocated + shard.registered_bytes();
  torch::optim::Adam optimizer(net->parameters(), 1e-4);
  const auto input = torch::full({1, width}, 0.1 * (world.rank() + 1));
  for (int iteration = 0; iteration < 3; ++iteration) {
    if (iteration == 1) {
      most_allocated = allocated.load();
      watching = true;
    }
    optimizer.zero_grad();
    net->forward(input).square().mean().backward();
    look();
    shard.step(optimizer);
    look();
  }
  watching = false;
  return most_while_built;
}

}  // namespace

int main(int argc, char** argv) try {
  mallopt(M_MMAP_THRESHOLD, kCounted);  // what is freed goes back to the system, so that the kernel's number says so
  at::set_num_threads(1);
  const auto words = arguments(argc, argv, "STAGE [LIMIT]", 1, 2);
  const auto stage = static_cast<int>(whole_number(words[0], "STAGE", 0, 3));
  const auto limit_mib = words.size() > 1 ? static_cast<std::size_t>(whole_number(words[1], "LIMIT", 1, 1 << 20)) : 0;
  auto world = lockstep::World::from_env();
  {
    lockstep::Sharded warm(world,
                           {.stage = stage});  // what libtorch and the group themselves take is there from here on
    train(world, warm, 2, kWidth);
  }
  world.barrier().wait();
  const double resident_before = static_cast<double>(proportional_bytes());
  const std::size_t allocated_before = allocated;
  most_resident = 0;
  world.barrier().wait();
  if (limit_mib > 0) limit_address_space(limit_mib);

  const std::size_t layer_bytes = sizeof(float) * kLayerParameters;
  lockstep::Sharded shard(world, {.stage = stage, .first_bucket_bytes = layer_bytes, .bucket_bytes = layer_bytes});
  const std::size_t most_while_built = train(world, shard, kLayers, kWidth);

  std::vector<double> means{
      static_cast<double>(most_allocated - allocated_before), static_cast<double>(shard.registered_bytes()),
      static_cast<double>(most_resident) - resident_before, static_cast<double>(most_while_built - allocated_before)};
  world.all_reduce(lockstep::buffer_of(means), lockstep::ReduceOp::kMean).wait();
  if (world.rank() != 0) return 0;
  const double predicted = lockstep::predicted_bytes_per_parameter(stage, world.size());
  std::printf(
      "stage %d on %d ranks, bytes a parameter, mean of the ranks: predicted %.2f, at most %.2f with 5 %% and a "
      "block\n",
      stage, world.size(), predicted, 1.05 * predicted + 16.0 / kLayers);
  std::printf("counted %.2f (of it registered %.2f, which the ranks of a host see of each other), resident %.2f\n",
              (means[0] + means[1]) / kParameters, means[1] / kParameters, means[2] / kParameters);
  if (stage < 3) return 0;
  std::printf("while built %.2f, allowed %.2f: the pieces, with 5 %% and a block\n", means[3] / kParameters,
              1.05 * 4 / world.size() + 16.0 / kLayers);
} catch (const std::exception& error) {
  return failed(error);
}
