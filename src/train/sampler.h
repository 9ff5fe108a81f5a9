#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "train/shares.h"

namespace lockstep {

/// Cuts epochs into global batches, and those into the ranks' shares; see LoaderOptions. Pure arithmetic.
class Sampler {
 public:
  struct Options {
    std::size_t size = 0;  ///< samples in the dataset
    std::size_t global_batch = 0;
    int rank = 0;
    int ranks = 1;
    std::uint64_t seed = 0;
    bool shuffle = true;
    bool drop_last = false;
    std::vector<std::int64_t> lengths = {};  ///< of each sample; empty: samples are alike
    std::optional<Shares> shares = {};       ///< of each rank; none: equal ones
  };
  /// A rank's part of a batch.
  struct Share {
    std::vector<std::size_t>
        indices;               ///< of this rank's samples; empty if the batch has fewer samples than there are ranks
    std::size_t global = 0;    ///< samples of the batch on all ranks
    std::size_t stand_in = 0;  ///< index of a sample of this batch, for a rank that has none
    std::int64_t work = 0;     ///< of this rank's samples the number, or the sum of their lengths
  };

  explicit Sampler(Options options);

  /// In an epoch.
  std::size_t batches() const;
  /// Makes the order of this epoch: 8 bytes a sample if shuffled.
  void begin_epoch(std::uint64_t epoch);
  /// Of batch 0..batches()-1 of the epoch begun last.
  Share share(std::size_t batch) const;

  const Options& options() const { return options_; }
  const Shares& shares() const { return shares_; }
  /// Of the batches asked for from now on.
  void set_shares(Shares shares) { shares_ = std::move(shares); }

 private:
  Share share_by_length(std::size_t begin, std::size_t m) const;
  std::size_t at(std::size_t position) const { return options_.shuffle ? order_[position] : position; }

  Options options_;
  Shares shares_;
  std::vector<std::size_t> order_;
};

}  // namespace lockstep
