#pragma once

/// One training on one process and on several: how far apart they end, and what makes them differ.

#include "train/tensor.h"
#include "train/test_model.h"

namespace lockstep::test {

inline constexpr double kParityTolerance = 1e-5;

struct Parity {
  double difference = 0;   ///< of rank 0's change from that of one process, over its norm
  bool bits_equal = true;  ///< between ranks
};

/// Where a training runs: on one rank of several, or (without options) in the one process that they must equal.
struct Side {
  Group group;
  std::uint64_t seed = 1;  ///< only rank 0 starts as the single process does
  std::optional<DataParallelOptions> options;

  /// Nothing in the one process.
  template <class Model>
  std::optional<DataParallel> replicate(Model&& model) const {
    if (!options) return std::nullopt;
    return DataParallel(group, model, *options);
  }
};

/// Trains and returns the change of the parameters.
using Training = std::function<torch::Tensor(const Side& side)>;
using MakeHook = std::function<CommunicationHook(const Group&)>;

inline Parity parity_of(const Training& train, int ranks, const DataParallelOptions& options = {},
                        const MakeHook& make_hook = nullptr) {
  at::set_num_threads(1);
  const auto expected = train({World::alone(), 1, std::nullopt});
  std::vector<torch::Tensor> changes(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    auto own = options;
    if (make_hook) own.communication_hook = make_hook(world);
    const auto rank = static_cast<std::size_t>(world.rank());
    changes[rank] = train({world, 1 + rank, own});
  });
  Parity result;
  result.difference = ((changes[0] - expected).norm() / expected.norm()).item<double>();
  for (const auto& change : changes) result.bits_equal = result.bits_equal && torch::equal(change, changes[0]);
  return result;
}

/// A hook that lets `tamper` change this rank's gradients before they are reduced.
inline MakeHook tampering(const std::function<void(int rank, torch::Tensor& flat)>& tamper,
                          ReduceOp op = ReduceOp::kMean) {
  return [tamper, op](const Group& group) -> CommunicationHook {
    return [tamper, op, group](const GradientBucket& bucket) {
      torch::Tensor flat = bucket.flat;
      tamper(group.rank(), flat);
      return group.all_reduce(buffer_of(flat), op);
    };
  };
}

/// The mistake that each parity test must see: what the last rank computed is lost.
inline MakeHook dropping_the_last_rank() {
  return [](const Group& group) {
    return tampering([last = group.size() - 1](int rank, torch::Tensor& flat) {
      if (rank == last) flat.zero_();
    })(group);
  };
}

}  // namespace lockstep::test
