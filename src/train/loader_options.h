#pragma once

#include <lockstep/group.h>

#include <string>
#include <utility>
#include <vector>

#include "train/sampler.h"

namespace lockstep {

struct LoaderOptions;

/// What a sampler needs of a loader's options. Throws Error (kInvalidArgument) for those that make no sense.
Sampler::Options sampler_options(const Group& group, std::size_t dataset_size, const LoaderOptions& options);

/// Loader::order().
std::vector<std::pair<std::string, std::string>> order_of(const Sampler::Options& options);

/// Throws Error (kMismatch) on every rank unless all give the same, but for their rank. Collective.
void require_equal_options(const Group& group, const Sampler& sampler);

}  // namespace lockstep
