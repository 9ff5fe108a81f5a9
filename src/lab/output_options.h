#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace lockstep::lab {

/// How a run of any training is watched, and where it is kept.
struct OutputOptions {
  std::string out;          ///< folder for all that it writes
  std::string jsonl;        ///< empty: none
  std::string tensorboard;  ///< folder; empty: none
  std::int64_t every = 0;   ///< print each n-th iteration; 0: about fifty of them
  bool log_sync = false;    ///< print each bucket
  bool check = false;       ///< read the input, and write nothing

  std::filesystem::path folder() const { return out; }
  std::int64_t print_every(std::int64_t iterations) const;
};

/// Adds their flags; what stands in `options` already are the defaults.
void add_output_flags(CLI::Option_group& group, OutputOptions& options);

/// Throws Error (kInvalidArgument) with what cannot be.
void validate(const OutputOptions& options);

/// Throws Error (kInvalidArgument) with the first file or folder of theirs that cannot be made or written to, as far as
/// that shows without making any.
void require_writable(const OutputOptions& options);

/// Makes the folder. Throws Error (kInvalidArgument) if it cannot be made or written to.
void make_folder(const OutputOptions& options);

}  // namespace lockstep::lab
