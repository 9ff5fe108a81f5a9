#pragma once

#include "bench/comparison/sections.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockstep::compare {

/// What Lockstep promises in one section: to be so many times as fast as a peer at sizes in a range.
struct Bar {
  std::string ours;
  std::string peer;
  std::size_t from_bytes;
  std::size_t to_bytes;
  double times;
};

/// In which something was measured, ascending.
std::set<std::size_t> sizes_of(const SectionResult& result);

std::vector<Bar> bars_of(const SectionResult& result);

/// The pairs that are held against each other, each once.
std::vector<Bar> pairs_of(const SectionResult& result);

/// How many times as fast as the peer `ours` was; none where either gave no answer.
std::optional<double> times_as_fast(const SectionResult& result, const Bar& bar, std::size_t bytes);

/// What a result may take at most, times the limit of the machine, in sections that are held against one; 0 in others.
double limit_bar(const SectionResult& result);
/// The limit in microseconds: 2pn bytes of memory traffic where buffers are cold, 2(p-1)n bytes through the line where
/// it is shaped.
double limit_us(const SectionResult& result, std::size_t bytes);

/// A sentence for each bar that was not met or had nobody to be held against, and for each result that was wrong.
std::vector<std::string> shortfalls(const std::vector<SectionResult>& results);

}  // namespace lockstep::compare
