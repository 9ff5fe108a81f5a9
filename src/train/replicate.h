#pragma once

#include <lockstep/group.h>

#include <string>
#include <vector>

#include "train/module_tensors.h"

namespace lockstep {

/// Throws Error (kMismatch) on every rank, naming the first line that differs, unless all ranks give the same list of
/// things, each said as (name, what it is). Collective.
void require_equal(const Group& group, const std::vector<std::pair<std::string, std::string>>& things);

/// Gives every rank the values that rank 0's tensors have. The tensors agree in number, shapes and types. Collective.
void broadcast_values(const Group& group, const std::vector<ModuleTensor>& tensors);

}  // namespace lockstep
