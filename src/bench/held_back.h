#pragma once

#include "planner/calibration/calibration.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace lockstep::bench {

/// Numbers of ranks of which `most` is the largest: predictions are made from some of them, others are held back.
struct Numbers {
  explicit Numbers(int most);

  std::set<int> known;
  std::set<int> held_back;
};

/// Predictions are made from these; those that are held back lie between two of them, as most buffers do.
std::vector<std::size_t> known_sizes(Medium medium);
std::vector<std::size_t> held_back_sizes();
/// From the first to 64 MiB.
std::vector<std::size_t> sizes_from(std::size_t first, std::size_t factor);

/// What predictions are made from, what is held back, and what is only measured.
struct Measured {
  std::vector<Sample> known;
  std::vector<Sample> other_sizes;
  std::vector<Sample> other_ranks;
  std::vector<Sample> other_collectives;

  std::vector<Sample> all() const;
};

/// Samples of these numbers of ranks, each where it belongs; none is of another collective.
Measured parted(const std::vector<Sample>& samples, const Numbers& numbers);

/// Of every sample on registered memory what the model that was fitted to the known ones says.
void predict(Measured& measured, const std::function<double(const Sample&)>& model);

/// What is predicted of a sample, corrected where something is known of its schedule.
using Corrected = std::function<double(const Sample&)>;
/// By what the model's predictions of `known`, which outlives the result, are wrong by; `memory_of` as ResidualCurve
/// takes it.
Corrected corrected_by(const std::vector<Sample>& known, const std::optional<Machine>& memory_of);

/// How well the predictions do, corrected where something is known; `memory_of` as ResidualCurve takes it.
HeldBack errors_of_held_back(const Measured& measured, const std::optional<Machine>& memory_of);

}  // namespace lockstep::bench
