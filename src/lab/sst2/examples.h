#pragma once

#include "lab/sst2/sentences.h"
#include "lab/sst2/wordpiece.h"

#include <lockstep/loader.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep::lab {

/// Sentences as a model sees them. Not changed by use.
class Examples {
 public:
  /// Each sentence's tokens, [CLS] and [SEP] included; of a longer one than `max_tokens` the last [SEP] and what comes
  /// before.
  Examples(const std::vector<Sentence>& sentences, const WordPiece& wordpiece, std::int64_t max_tokens);

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t cut() const { return cut_; }  ///< sentences that were too long
  /// Of each example, in tokens.
  std::vector<std::int64_t> lengths() const;
  /// Puts the shortest first, so that batches in order have little padding.
  void sort_by_length();

  /// Tokens {samples, longest}, int64, padded at the end, and labels {samples}.
  torch::data::Example<> fetch(const std::vector<std::size_t>& indices) const;

 private:
  std::vector<std::vector<std::int32_t>> tokens_;
  std::vector<std::int64_t> labels_;
  std::int64_t padding_;
  std::int64_t cut_ = 0;
};

}  // namespace lockstep::lab
