#pragma once

#include "lab/text/gpt.h"

#include <lockstep/group.h>

#include <cstdint>
#include <vector>

namespace lockstep::lab {

/// The mean loss in nats a token over the windows of `tokens` that begin at `starts` (one or more), each rank taking
/// its part of them. The same number on every rank. Collective. Leaves the model in training mode.
double mean_loss(const Group& group, Gpt& model, const std::vector<std::int32_t>& tokens,
                 const std::vector<std::int64_t>& starts);

}  // namespace lockstep::lab
