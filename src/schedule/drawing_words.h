#pragma once

#include "schedule/schedule.h"

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What pictures call a rank's contributions: "a" is rank 0, "z" rank 25. With more ranks than letters, numbers.
std::string letter_of(int rank, int ranks);

/// "a1+c1": the sum of what ranks 0 and 2 contribute to chunk 0, as textbooks write it, where ranks go by letters;
/// else "0+2".
std::string sum_of(const std::vector<int>& contributions, int chunk, int ranks);

/// The same without the chunk, and with runs shortened: "a-d+f".
std::string short_sum_of(const std::vector<int>& contributions, int ranks);

/// How cells of a drawing say what is held, where some are not like "a1+b1".
struct CellForms {
  bool has_runs = false;    ///< "a-d"
  bool has_counts = false;  ///< "4/6"
};

/// Clauses that explain to whoever looks at a picture what stands in it.
std::string explanation_of_cells(const Schedule& schedule, const CellForms& forms);

/// Whether there is a transfer of this kind.
bool has_transfers(const Schedule& schedule, TransferKind kind);

std::string_view word_of(TransferKind kind);

/// "all_reduce on 4 ranks, 4 chunks, 6 steps, 24 transfers", with the root where there is one.
std::string summary_of(const Schedule& schedule);

/// Throws Error (kRefused) if something in the schedule is out of range.
void require_in_range(const Schedule& schedule);

}  // namespace lockstep
