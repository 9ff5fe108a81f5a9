#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// A permutation of 0..size-1 that depends on (seed, epoch) only: Fisher and Yates' shuffle (Knuth, TAOCP 2, 3.4.2,
/// algorithm P) over the splitmix64 generator (Steele, Lea, Flood 2014), bounded without bias (Lemire 2019). The same
/// on every platform.
std::vector<std::size_t> permutation(std::size_t size, std::uint64_t seed, std::uint64_t epoch);

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
  };
  /// A rank's part of a batch.
  struct Share {
    std::vector<std::size_t>
        indices;               ///< of this rank's samples; empty if the batch has fewer samples than there are ranks
    std::size_t global = 0;    ///< samples of the batch on all ranks
    std::size_t stand_in = 0;  ///< index of a sample of this batch, for a rank that has none
  };

  explicit Sampler(const Options& options) : options_(options) {}

  /// In an epoch.
  std::size_t batches() const;
  /// Makes the order of this epoch: 8 bytes a sample if shuffled.
  void begin_epoch(std::uint64_t epoch);
  /// Of batch 0..batches()-1 of the epoch begun last.
  Share share(std::size_t batch) const;

 private:
  std::size_t at(std::size_t position) const { return options_.shuffle ? order_[position] : position; }

  Options options_;
  std::vector<std::size_t> order_;
};

}  // namespace lockstep
