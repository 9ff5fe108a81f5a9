#pragma once

#include <torch/optim/adamw.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

namespace lockstep::lab {

/// AdamW's state by the order of the parameters, in an archive that every version of torch reads (torch's own is not;
/// train/checkpoint/optimizer_fields.cpp says why).
void save_state(torch::serialize::OutputArchive& archive, const torch::optim::AdamW& optimizer);

/// For an optimizer of the same parameters; its options stay. Throws c10::Error where the archive lacks a tensor or one
/// has another shape.
void load_state(torch::serialize::InputArchive& archive, torch::optim::AdamW& optimizer);

}  // namespace lockstep::lab
