#pragma once

#include "base/units.h"

#include <lockstep/error.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace lockstep::lab {

/// Adds --bucket-bytes, which fills what DataParallelOptions and ShardedOptions call so; `first_bucket_bytes` is no
/// larger. A text that is no size is CLI11's error.
inline void add_bucket_flag(CLI::App& app, std::size_t& first_bucket_bytes, std::size_t& bucket_bytes) {
  const auto check = [](const std::string& text) -> std::string {
    try {
      return parse_bytes(text) > 0 ? "" : "a size of at least one byte, as 4MiB.";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const auto set = [&first_bucket_bytes, &bucket_bytes](const std::string& text) {
    bucket_bytes = parse_bytes(text);
    first_bucket_bytes = std::min(first_bucket_bytes, bucket_bytes);
  };
  app.add_option_function<std::string>("--bucket-bytes", set, "Gradients that travel together [8MiB, the first 1MiB]")
      ->type_name("BYTES")
      ->check(CLI::Validator(check, ""));
}

}  // namespace lockstep::lab
