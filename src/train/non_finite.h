#pragma once

#include <torch/types.h>

namespace lockstep {

/// True if any element is infinite or not a number. Reads each element once, at the speed of memory; of a type that is
/// no float of 16, 32 or 64 bits, false.
bool has_non_finite(const torch::Tensor& tensor);

/// Makes every element that is infinite or not a number 0: for what is kept from an iteration to the next, which one
/// bad gradient would otherwise spoil for ever.
void forget_non_finite(torch::Tensor& tensor);

}  // namespace lockstep
