#pragma once

#include "lab/text/gpt.h"

namespace lockstep::lab {

/// Of few enough numbers to follow each.
inline constexpr GptSize kTinyGpt{.vocabulary = 5, .layers = 1, .heads = 1, .width = 4, .context = 4, .dropout = 0};

}  // namespace lockstep::lab
