#include "bench/comparison/bars.h"

#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::compare {

namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr double kLineBytesPerSecond = 125e6;  // 1 Gbit/s, as bench/compare shapes it

bool is_ours(const Cell& cell) { return cell.subject.rfind("Lockstep", 0) == 0; }

bool was_measured(const SectionResult& result, const std::string& subject) {
  return std::any_of(result.cells.begin(), result.cells.end(),
                     [&](const Cell& cell) { return cell.subject == subject; });
}

void missed_beside_a_peer(const SectionResult& result, const Bar& bar, std::vector<std::string>& sentences) {
  for (const std::size_t bytes : sizes_of(result)) {
    if (bytes < bar.from_bytes || bytes > bar.to_bytes) continue;
    const auto times = times_as_fast(result, bar, bytes);
    if (!times || *times >= bar.times) continue;
    sentences.push_back(fmt::format("{} ranks, {}: {} is {:.2f} times as fast as {}; it should be {:g}.", result.ranks,
                                    format_bytes(bytes), bar.ours, *times, bar.peer, bar.times));
  }
}

void missed_beside_the_limit(const SectionResult& result, const Cell& cell, std::vector<std::string>& sentences) {
  const double bar = limit_bar(result);
  if (bar == 0 || cell.subject == "Lockstep, plain") return;
  const double share = cell.median_us / limit_us(result, cell.bytes);
  if (share <= bar) return;
  sentences.push_back(fmt::format("{} ranks, {}, {}: {} takes {:.2f} times what the limit allows; it should be {:.2f}.",
                                  result.ranks, format_bytes(cell.bytes), result.cold ? "cold" : "shaped line",
                                  cell.subject, share, bar));
}

}  // namespace

std::set<std::size_t> sizes_of(const SectionResult& result) {
  std::set<std::size_t> sizes;
  for (const Cell& cell : result.cells) sizes.insert(cell.bytes);
  return sizes;
}

std::vector<Bar> bars_of(const SectionResult& result) {
  if (result.cold || result.shaped) return {};
  if (result.tcp) {
    return {{"Lockstep, TCP", "Open MPI, TCP", 0, 64 * kMiB, 1}, {"Lockstep, TCP", "Gloo", 0, 64 * kMiB, 2}};
  }
  std::vector<Bar> bars{{"Lockstep, registered", "Open MPI", 0, 8 * kKiB, 1},
                        {"Lockstep, plain", "Open MPI", 0, 8 * kKiB, 1},
                        {"Lockstep, registered", "Open MPI", 16 * kKiB, 64 * kMiB, 4},
                        {"Lockstep, registered", "Gloo", 16 * kKiB, 64 * kMiB, 10}};
  if (result.ranks <= 4) bars.push_back({"Lockstep, plain", "Open MPI", 256 * kKiB, 64 * kMiB, 2});
  return bars;
}

std::vector<Bar> pairs_of(const SectionResult& result) {
  std::vector<Bar> pairs;
  for (const Bar& bar : bars_of(result)) {
    const bool known = std::any_of(pairs.begin(), pairs.end(),
                                   [&](const Bar& pair) { return pair.ours == bar.ours && pair.peer == bar.peer; });
    if (!known) pairs.push_back(bar);
  }
  return pairs;
}

std::optional<double> times_as_fast(const SectionResult& result, const Bar& bar, std::size_t bytes) {
  const Cell* ours = result.find(bar.ours, bytes);
  const Cell* peer = result.find(bar.peer, bytes);
  if (ours == nullptr || peer == nullptr) return std::nullopt;
  return peer->median_us / ours->median_us;
}

double limit_bar(const SectionResult& result) {
  if (result.cold) return 1.3;
  return result.shaped ? 1 / 0.9 : 0;
}

double limit_us(const SectionResult& result, std::size_t bytes) {
  const double ranks = result.ranks;
  const auto n = static_cast<double>(bytes);
  if (result.shaped) return 2 * (ranks - 1) * n / kLineBytesPerSecond * 1e6;
  if (const Cell* copies = result.find(kLimitSubject, bytes)) return copies->median_us;
  return 2 * ranks * n / (result.limit_gb_per_s * 1e9) * 1e6;
}

std::vector<std::string> shortfalls(const std::vector<SectionResult>& results) {
  std::vector<std::string> sentences;
  for (const SectionResult& result : results) {
    for (const Bar& pair : pairs_of(result)) {
      if (!was_measured(result, pair.ours) || was_measured(result, pair.peer)) continue;
      sentences.push_back(
          fmt::format("{}: {} has no {} beside it, which is not installed.", result.section, pair.ours, pair.peer));
    }
    for (const Bar& bar : bars_of(result)) missed_beside_a_peer(result, bar, sentences);
    for (const Cell& cell : result.cells) {
      const std::string where = fmt::format("{}, {}: {}", result.section, format_bytes(cell.bytes), cell.subject);
      if (cell.wrong > 0) sentences.push_back(fmt::format("{} had {} wrong.", where, counted(cell.wrong, "element")));
      if (!is_ours(cell)) continue;
      if (cell.median_us == 0) {
        sentences.push_back(where + " gave no answer.");
      } else {
        missed_beside_the_limit(result, cell, sentences);
      }
    }
  }
  return sentences;
}

}  // namespace lockstep::compare
