#pragma once

#include <lockstep/data_parallel.h>

#include <vector>

#include "train/module_tensors.h"

namespace lockstep {

/// Makes a module's buffers equal again, as `how` says; a rank counts `factor` times in means of floats, and what is
/// not a float is rank 0's. The same bits on all ranks. Collective and blocking.
void synchronise_buffers(const Group& group, const std::vector<ModuleTensor>& buffers, BufferSync how, double factor);

}  // namespace lockstep
