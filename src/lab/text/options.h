#pragma once

#include "lab/output_options.h"
#include "lab/text/gpt.h"

#include <lockstep/data_parallel.h>
#include <lockstep/optim.h>
#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::lab {

/// What decides which model comes out. A checkpoint remembers it, and a resumed run goes on with it unless told
/// otherwise.
struct TextSettings {
  std::vector<std::string> data;  ///< files and folders; none: kDefaultText
  std::string tokens = "chars";
  GptSize model;
  std::int64_t batch = 12;  ///< windows an iteration, on all ranks together
  std::int64_t iterations = 2000;
  double learning_rate = 2e-3;
  double min_learning_rate = -1;      ///< where the decay ends; -1: a tenth of the learning rate
  std::int64_t warmup = -1;           ///< iterations; -1: a tenth of the decay, at most 100
  std::int64_t decay_iterations = 0;  ///< 0: all iterations
  double weight_decay = 0.1;
  double clip = 1.0;  ///< of the global gradient norm; 0: none
  std::uint64_t seed = 1337;

  /// A warm-up, then a cosine (with the exact form of nanoGPT).
  LearningRate schedule() const;
};

/// How a run of `lockstep train text` is watched and kept, beside its settings.
struct TextOptions {
  TextSettings settings;
  std::string resume;  ///< a checkpoint; empty: begin anew
  OutputOptions output{.out = "runs/text"};
  std::int64_t checkpoint_every = 0;  ///< 0: at the end only
  std::int64_t eval_every = 250;      ///< 0: at the end only
  std::int64_t eval_iterations = 20;  ///< global batches of an estimate; 0: the whole validation part
  std::int64_t sample_length = 300;   ///< tokens
  double temperature = 0.8;           ///< 0: always the likeliest token
  std::string prompt;                 ///< empty: a newline, or the first token where the text has none
  std::string algorithm = "auto";
  bool overlap = true;
  std::size_t first_bucket_bytes = DataParallelOptions().first_bucket_bytes;
  std::size_t bucket_bytes = DataParallelOptions().bucket_bytes;
};

/// Adds the flags of `lockstep-train text`, which fill `options`; what stands in it already are their defaults.
void add_text_flags(CLI::App& app, TextOptions& options);

/// Throws Error (kInvalidArgument) with what cannot be and what could.
void validate(const TextOptions& options);

}  // namespace lockstep::lab
