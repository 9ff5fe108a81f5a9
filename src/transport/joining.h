#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// "rank 2", "ranks 1, 3", "ranks 0, 2 to 4999": in their order, three or more that follow each other as a range, and
/// of what is scattered the first ones and how many more there are.
std::string ranks_in_words(const std::vector<int>& ranks);

/// What a rank holds open for each other one while they join, at least; and which of the ranks it is, in errors.
struct OpenFiles {
  int rank = 0;
  int a_peer = 1;
};
/// Whether this process can join so many ranks at all, before memory is taken for each of them. Throws Error
/// (kInvalidArgument) where they are more than some dozens and it may not have as many files open, or where they are
/// more than a million.
void require_room_for(int ranks, const OpenFiles& files);

}  // namespace lockstep
