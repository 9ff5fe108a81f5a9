#pragma once

#include "kernels/reduce.h"

namespace lockstep::kernels {

/// reduce_scalar for the elements from `first` on: what a vectorised kernel leaves over.
void reduce_scalar_from(std::size_t first, const ReduceArguments& arguments);

}  // namespace lockstep::kernels
