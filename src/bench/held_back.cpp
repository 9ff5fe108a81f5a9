#include "bench/held_back.h"

#include "planner/calibration/residual_curve.h"

#include <algorithm>
#include <map>

namespace lockstep::bench {

Numbers::Numbers(int most) : known{2, std::max(2, most / 2), most} {
  for (const int ranks : {3, most - 1}) {
    if (ranks >= 3 && ranks < most && !known.contains(ranks)) held_back.insert(ranks);
  }
}

std::vector<std::size_t> sizes_from(std::size_t first, std::size_t factor) {
  constexpr std::size_t kLast = std::size_t{1} << 26;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = first; bytes <= kLast; bytes *= factor) sizes.push_back(bytes);
  return sizes;
}

std::vector<std::size_t> known_sizes(Medium medium) {
  std::vector<std::size_t> sizes = sizes_from(256, 2);
  sizes.insert(sizes.begin(), {4, 64});
  if (medium != Medium::kSharedMemory) return sizes;
  // Where the buffers of all ranks grow out of a shared cache, times go up in leaps.
  for (std::size_t bytes = std::size_t{2} << 20; bytes <= std::size_t{16} << 20; bytes *= 2)
    sizes.insert(sizes.end(), {bytes / 4 * 5, bytes / 4 * 7});
  return sizes;
}

std::vector<std::size_t> held_back_sizes() { return sizes_from(3 << 7, 4); }

std::vector<Sample> Measured::all() const {
  std::vector<Sample> samples = known;
  for (const auto* more : {&other_sizes, &other_ranks, &other_collectives}) {
    samples.insert(samples.end(), more->begin(), more->end());
  }
  return samples;
}

Measured parted(const std::vector<Sample>& samples, const Numbers& numbers) {
  const std::vector<std::size_t> held_back = held_back_sizes();
  Measured measured;
  for (const Sample& sample : samples) {
    const bool is_known = std::find(held_back.begin(), held_back.end(), sample.bytes) == held_back.end();
    auto& group = !numbers.known.contains(sample.ranks) ? measured.other_ranks
                  : is_known                            ? measured.known
                                                        : measured.other_sizes;
    group.push_back(sample);
  }
  return measured;
}

void predict(Measured& measured, const std::function<double(const Sample&)>& model) {
  for (auto* samples : {&measured.known, &measured.other_sizes, &measured.other_ranks, &measured.other_collectives}) {
    for (Sample& sample : *samples) {
      if (sample.memory == MemoryKind::kRegistered) sample.predicted_s = model(sample);
    }
  }
}

Corrected corrected_by(const std::vector<Sample>& known, const std::optional<Machine>& memory_of) {
  return [&known, memory_of, curves = std::map<const HostJob*, ResidualCurve>()](const Sample& sample) mutable {
    const auto [curve, is_new] = curves.try_emplace(sample.job.get());
    if (is_new) curve->second = ResidualCurve(known, sample.job->schedule, memory_of);
    return sample.predicted_s * curve->second.factor(sample.bytes);
  };
}

HeldBack errors_of_held_back(const Measured& measured, const std::optional<Machine>& memory_of) {
  const Corrected predicted = corrected_by(measured.known, memory_of);
  return {.sizes = error_of(measured.other_sizes, predicted), .ranks = error_of(measured.other_ranks, predicted)};
}

}  // namespace lockstep::bench
