#include "train/checkpoint/random_part.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <mutex>

#include "train/checkpoint/checksum.h"

namespace lockstep {

StateContent RandomPart::save(int rank, int ranks) const {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  const torch::Tensor state = generator.get_state();
  return {{{name_, {ranks, state.numel()}, rank * state.numel(), state}}, {}};
}

std::vector<TensorSlice> RandomPart::targets(const StoredState& stored, int rank, int) {
  const StoredState::Tensor* found = stored.find(name_);
  const std::int64_t size = at::detail::getDefaultCPUGenerator().get_state().numel();
  if (found == nullptr || found->shape.size() != 2 || found->shape[0] < 1 || found->shape[1] != size)
    stored.refuse(fmt::format("it holds no state of this torch's generator under '{}'", name_));
  const std::int64_t saved = found->shape[0];
  further_ = static_cast<std::uint64_t>(rank / saved);
  row_ = torch::empty({size}, torch::kUInt8);
  return {{name_, found->shape, rank % saved * size, row_}};
}

void RandomPart::loaded(const StoredState&) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  if (further_ == 0) {
    generator.set_state(row_);
  } else {
    const std::string sum =
        checksum({static_cast<const char*>(row_.data_ptr()), static_cast<std::size_t>(row_.numel())});
    // torch's generator takes 32 bits of a seed.
    constexpr std::uint64_t kOdd = 0x9E3779B9;
    generator.set_current_seed((std::stoull(sum, nullptr, 16) ^ further_ * kOdd) & 0xFFFFFFFF);
  }
}

}  // namespace lockstep
