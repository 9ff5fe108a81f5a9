#include "runtime/versions.h"

namespace lockstep {

Versions::Versions(const Schedule& schedule)
    : chunks_(static_cast<std::size_t>(schedule.chunks)),
      versions_(static_cast<std::size_t>(schedule.ranks) * chunks_, {Version{-1, {}}}) {
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const int step = static_cast<int>(i);
    // Sources are read as they were when the step began: all reads first.
    for (const Transfer& transfer : schedule.steps[i]) {
      versions_[place(transfer.from, transfer.chunk)].back().readers.push_back({transfer.to, step});
    }
    for (const Transfer& transfer : schedule.steps[i]) {
      auto& versions = versions_[place(transfer.to, transfer.chunk)];
      if (versions.back().step != step) versions.push_back({step, {}});
    }
  }
}

int Versions::at(int rank, int chunk, int step) const {
  const auto& versions = of(rank, chunk);
  int number = 0;
  while (number + 1 < static_cast<int>(versions.size()) && versions[static_cast<std::size_t>(number) + 1].step < step) {
    ++number;
  }
  return number;
}

}  // namespace lockstep
