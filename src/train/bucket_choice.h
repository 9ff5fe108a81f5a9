#pragma once

#include <lockstep/data_parallel.h>

#include <cstddef>
#include <string>
#include <vector>

#include "train/bucket_size.h"
#include "train/layout.h"

namespace lockstep {

/// bucket_bytes = kAuto: measures a few backward passes and picks the size once, the same on all ranks.
class BucketChoice {
 public:
  /// Finds out what the link costs, as rank 0 knows it or, if it does not, all measure it. Collective.
  BucketChoice(const Group& group, const std::vector<GradientSize>& gradients);

  /// The size in force: kStartBytes until one was picked.
  std::size_t bucket_bytes() const { return bucket_bytes_; }
  /// Of what was picked, in words; empty before.
  const std::string& reason() const { return reason_; }
  /// After each synchronised backward. True when this one made it pick: the buckets are to be laid out anew. Collective
  /// then.
  bool note(const SyncReport& report);

  static constexpr std::size_t kStartBytes = std::size_t{8} << 20;

 private:
  Group group_;
  Link link_;
  BucketCosts costs_;
  std::size_t bucket_bytes_ = kStartBytes;
  int seen_ = 0;
  std::vector<double> backward_s_;
  std::string reason_;
};

}  // namespace lockstep
