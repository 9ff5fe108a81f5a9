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

/// A clause that explains sum_of to whoever looks at a picture.
std::string explanation_of_sums(int ranks);

std::string_view word_of(TransferKind kind);

/// "all_reduce on 4 ranks, 4 chunks, 6 steps, 24 transfers", with the root where there is one.
std::string summary_of(const Schedule& schedule);

/// Throws Error (kRefused) if something in the schedule is out of range.
void require_in_range(const Schedule& schedule);

}  // namespace lockstep
