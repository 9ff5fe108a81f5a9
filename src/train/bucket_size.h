#pragma once

#include <lockstep/link.h>

#include <cstddef>
#include <string>

namespace lockstep {

/// What a cap on buckets is chosen by.
struct BucketCosts {
  std::size_t bytes = 0;  ///< of all gradients
  double backward_s = 0;  ///< from the first gradient to the last, without communication
  double alpha_s = 0;     ///< a bucket, however small
  double beta_s = 0;      ///< a byte of a bucket
};

/// By a link's numbers: a ring's all-reduce is 2 (p-1) messages of 1/p of the bytes.
BucketCosts bucket_costs(const Link& link, int ranks);

/// The cap that adds the least to backward (docs/design/data_parallel.md derives it):
///
///   sqrt(bytes * alpha / min(beta, backward / bytes))
///
/// in whole cache lines, between 64 KiB and all bytes in one bucket. All of them where nothing is known of backward
/// and of the bytes' cost.
std::size_t best_bucket_bytes(const BucketCosts& costs);

/// What is predicted to be added to backward by buckets of so many bytes: their alphas, and what is still to be moved
/// when the last gradient is there.
double added_s(const BucketCosts& costs, double bucket_bytes);

/// "1.5 MiB, since ...", of what best_bucket_bytes() picked.
std::string why_bucket_bytes(const BucketCosts& costs, const std::string& source);

}  // namespace lockstep
