#pragma once

#include "lab/text/gpt.h"

#include <cstdint>
#include <vector>

namespace lockstep::lab {

struct SampleOptions {
  std::int64_t length = 300;  ///< tokens to generate
  double temperature = 0.8;   ///< below 1 sharper, above 1 wilder; 0: always the likeliest token
  std::uint64_t seed = 0;
};

/// The tokens that the model puts after `prompt`, which holds one token or more. Leaves the model in evaluation mode.
std::vector<std::int32_t> generate(Gpt& model, const std::vector<std::int32_t>& prompt, const SampleOptions& options);

}  // namespace lockstep::lab
