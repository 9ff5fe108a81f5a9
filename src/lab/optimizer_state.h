#pragma once

#include <torch/optim/adamw.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

namespace lockstep::lab {

/// AdamW's moments and step counts, by the order of the parameters, in a form that every version of torch reads:
/// torch's own names a parameter by its address, as text in 1.13 and as a number since 2, and what reads the other one
/// crashes later.
void save_state(torch::serialize::OutputArchive& archive, const torch::optim::AdamW& optimizer);

/// For an optimizer of the same parameters; its options stay. Throws c10::Error where the archive lacks a tensor or one
/// has another shape.
void load_state(torch::serialize::InputArchive& archive, torch::optim::AdamW& optimizer);

}  // namespace lockstep::lab
