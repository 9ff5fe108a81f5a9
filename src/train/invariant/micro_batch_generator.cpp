#include "train/invariant/micro_batch_generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <mutex>
#include <random>

namespace lockstep {
namespace {

template <class F>
auto with_generator(const F& f) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return f(generator);
}

}  // namespace

MicroBatchGenerator::MicroBatchGenerator()
    : state_(with_generator([](at::Generator& generator) { return generator.get_state(); })) {}

MicroBatchGenerator::~MicroBatchGenerator() {
  with_generator([this](at::Generator& generator) { generator.set_state(state_); });
}

void MicroBatchGenerator::seed(std::uint64_t seed, std::int64_t iteration, std::int64_t micro_batch) const {
  const auto step = static_cast<std::uint64_t>(iteration);
  // Its result is laid down by the C++ standard.
  std::seed_seq mixer{seed & 0xffffffff, seed >> 32, step & 0xffffffff, step >> 32,
                      static_cast<std::uint64_t>(micro_batch)};
  std::array<std::uint32_t, 2> words{};
  mixer.generate(words.begin(), words.end());
  with_generator(
      [&words](at::Generator& generator) { generator.set_current_seed((std::uint64_t{words[0]} << 32) | words[1]); });
}

}  // namespace lockstep
