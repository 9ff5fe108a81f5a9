#pragma once

#include "lab/text/vocabulary.h"

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// Files that every Debian has: what is trained on when no data is named.
inline constexpr const char* kDefaultText = "/usr/share/common-licenses";

/// The files' contents, one after the other. A folder stands for its regular files in the order of their names, links
/// left out. Throws Error (kInvalidArgument) naming a path that is not there, cannot be read or holds nothing.
std::string read_text(const std::vector<std::filesystem::path>& paths);

/// A text as tokens: the first 90 % are for training, the rest for validation.
struct TextData {
  std::vector<std::int32_t> training;
  std::vector<std::int32_t> validation;

  /// Throws Error (kInvalidArgument) if a part is too short for one window of `context` tokens and the token that
  /// follows.
  TextData(const std::vector<std::int32_t>& tokens, std::int64_t context);
};

/// Windows of a text: row i of `tokens` and `targets`, both {windows, context} and int64, is one window and the
/// same window one token later.
struct TextBatch {
  torch::Tensor tokens;
  torch::Tensor targets;
};

/// A part [begin, end) of several windows.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Rank r's part of m: [m r / p, m (r + 1) / p).
constexpr Slice slice_of(std::int64_t m, int rank, int size) { return {m * rank / size, m * (rank + 1) / size}; }

/// The windows that begin at `starts`. If there are none, one window all the same (the first), so that a rank without a
/// share can still run its model; it weighs nothing.
TextBatch windows_at(const std::vector<std::int32_t>& tokens, const std::vector<std::int64_t>& starts,
                     std::int64_t context);

/// Where the windows of iteration `iteration`'s global batch begin. They depend on nothing but the arguments: any
/// number of ranks sees the same batches.
std::vector<std::int64_t> random_starts(std::uint64_t seed, std::int64_t iteration, std::int64_t windows,
                                        std::int64_t positions);
/// At most `windows` starts, evenly spaced so that the windows, `context` long, do not overlap. 0 windows: as many as
/// fit.
std::vector<std::int64_t> even_starts(std::int64_t windows, std::int64_t tokens, std::int64_t context);

}  // namespace lockstep::lab
