#pragma once

#include "report/record.h"

#include <lockstep/sharded.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <vector>

namespace lockstep::lab {

/// What this rank's tensors hold between updates, by kind: parameters, gradients, optimizer state; beside what ZeRO's
/// formula says for `ranks` ranks and all parameters in blocks (Rajbhandari et al. 2020). And, where there are some,
/// the buffers in which blocks are gathered and gradients travel, which no formula knows. After an update.
std::vector<MemoryRecord> memory_of(const Sharded& sharded, const torch::optim::Optimizer& optimizer, int ranks);
/// The same of a module that every rank holds whole.
std::vector<MemoryRecord> memory_of(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer);

}  // namespace lockstep::lab
