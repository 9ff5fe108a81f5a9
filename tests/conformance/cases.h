#pragma once

#include "tests/conformance/trial.h"

#include <array>
#include <string>
#include <vector>

namespace lockstep::conformance {

inline constexpr std::array kSummingCollectives{Collective::kAllReduce, Collective::kReduceScatter,
                                                Collective::kReduce};

/// The catalogue's algorithms that do the collective, and compositions of them.
std::vector<std::string> names_for(Collective collective);

/// Whether the sum shows the order in which it was made: integers' does not, nor do the least and the greatest.
bool shows_order(const Case& one);

/// Blocks of `count` elements each, one a rank or one in all.
std::vector<std::size_t> even_blocks(const Facts& facts, int ranks, std::size_t count);
/// Blocks of very different sizes, some of them empty.
std::vector<std::size_t> uneven_blocks(int ranks, std::size_t count);

/// Every algorithm, data type, operator, kind of memory and size: 0, 1, a prime, a page and one element less and more.
std::vector<Case> small_cases(const Facts& facts, int ranks, bool has_registered);
/// Every algorithm with every data type in every kind of memory, in buffers of several segments. Operators, roots and
/// blocks of one size or of many take turns: each algorithm meets each operator and at least two roots in each kind of
/// memory, and over 2, 3, 4, 5 and 8 ranks each operator with each data type.
std::vector<Case> large_cases(const Facts& facts, int ranks, bool has_registered);
/// Every algorithm on plain memory, five times in a row with other values: each use of the staging memory that is like
/// the one before is the other way round.
std::vector<Case> repeated_cases(const Facts& facts, int ranks);
/// Small and large ones.
std::vector<Case> all_cases(const Facts& facts, int ranks, bool has_registered);
/// Of all_reduces those whose order shows, of sums that are rounded on the way and of any bits in turn; large ones in a
/// type that is summed in itself and one that is not.
std::vector<Case> rounding_cases(int ranks, bool has_registered);
/// Canonical reductions of both kinds of values, small and large ones, admitted or not.
std::vector<Case> canonical_cases(int ranks, bool has_registered);

}  // namespace lockstep::conformance
