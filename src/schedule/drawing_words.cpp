#include "schedule/drawing_words.h"

#include "base/units.h"
#include "schedule/promise.h"
#include "schedule/ranges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>

namespace lockstep {

namespace {

/// Where a collective that has a root starts or ends.
std::string root_of(const Schedule& schedule) {
  if (!has_root(schedule.collective)) return "";
  const bool ends_there = schedule.collective == Collective::kReduce || schedule.collective == Collective::kGather;
  return fmt::format(" {} {}", ends_there ? "to" : "from", schedule.root);
}

bool has_letters(int ranks) { return ranks <= 'z' - 'a' + 1; }

/// The first ranks that contribute to chunk 0, two where there are.
std::vector<int> first_contributors(const Schedule& schedule) {
  std::vector<int> ranks;
  for (int rank = 0; rank < schedule.ranks && ranks.size() < 2; ++rank) {
    if (contributes(schedule, rank, 0)) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::string letter_of(int rank, int ranks) {
  return has_letters(ranks) ? std::string(1, static_cast<char>('a' + rank)) : fmt::format("{}", rank);
}

std::string sum_of(const std::vector<int>& contributions, int chunk, int ranks) {
  std::vector<std::string> terms;
  terms.reserve(contributions.size());
  for (const int rank : contributions) {
    terms.push_back(letter_of(rank, ranks) + (has_letters(ranks) ? fmt::format("{}", chunk + 1) : ""));
  }
  return fmt::format("{}", fmt::join(terms, "+"));
}

std::string short_sum_of(const std::vector<int>& contributions, int ranks) {
  std::vector<std::string> runs;
  for (std::size_t first = 0; first < contributions.size();) {
    std::size_t last = first;
    while (last + 1 < contributions.size() && contributions[last + 1] == contributions[last] + 1) ++last;
    if (last == first + 1) last = first;  // two are no run: "a+b" is as short as "a-b"
    runs.push_back(letter_of(contributions[first], ranks));
    if (last != first) runs.back() += "-" + letter_of(contributions[last], ranks);
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(runs, "+"));
}

std::string explanation_of_cells(const Schedule& schedule, const CellForms& forms) {
  const int ranks = schedule.ranks;
  const bool by_letters = has_letters(ranks);
  const std::vector<int> examples = first_contributors(schedule);
  const int first = examples.front();
  const int second = examples.back();
  std::string text = sum_of({first}, 0, ranks) + " is ";
  text += by_letters ? fmt::format("rank {}'s part of chunk 0", first)
                     : fmt::format("what rank {} has at the start", first);
  if (second != first && by_letters) text += fmt::format(", {} rank {}'s", sum_of({second}, 0, ranks), second);
  if (second != first && has_transfers(schedule, TransferKind::kReduce)) {
    text += fmt::format(", {} ", sum_of(examples, 0, ranks));
    text += by_letters ? "their sum" : fmt::format("the sum with rank {}'s", second);
  }
  if (forms.has_runs) {
    text += fmt::format("; {0}-{1} sums all from {0} to {1}", letter_of(0, ranks),
                        letter_of(std::min(3, ranks - 1), ranks));
  }
  if (forms.has_counts) text += "; 4/6 is four of six";
  return text;
}

bool has_transfers(const Schedule& schedule, TransferKind kind) {
  return std::any_of(schedule.steps.begin(), schedule.steps.end(), [kind](const Step& step) {
    return std::any_of(step.begin(), step.end(), [kind](const Transfer& transfer) { return transfer.kind == kind; });
  });
}

std::string_view word_of(TransferKind kind) { return kind == TransferKind::kCopy ? "copy" : "reduce"; }

std::string summary_of(const Schedule& schedule) {
  return fmt::format("{} on {}{}, {}, {}, {}", to_string(schedule.collective),
                     counted(static_cast<std::size_t>(schedule.ranks), "rank"), root_of(schedule),
                     counted(static_cast<std::size_t>(schedule.chunks), "chunk"),
                     counted(schedule.steps.size(), "step"),
                     counted(static_cast<std::uint64_t>(transfers_of(schedule)), "transfer"));
}

void require_in_range(const Schedule& schedule) {
  if (const auto refusal = check_ranges(schedule)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("The schedule '{}' cannot be drawn: {}", schedule.name, describe(*refusal)));
  }
}

}  // namespace lockstep
