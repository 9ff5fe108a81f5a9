#pragma once

#include "lab/text/options.h"

#include <nlohmann/json.hpp>

namespace lockstep::lab {

// How a checkpoint writes settings down, found by nlohmann::json by these names. Members of TextSettings and GptSize
// that are missing here are not remembered.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GptSize, vocabulary, layers, heads, width, context, dropout)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TextSettings, data, tokens, model, batch, iterations, learning_rate,
                                   min_learning_rate, warmup, decay_iterations, weight_decay, clip, seed)

}  // namespace lockstep::lab
