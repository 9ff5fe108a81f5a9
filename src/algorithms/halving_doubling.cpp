#include "algorithms/halving.h"

namespace lockstep::algorithm {

/// Recursive halving, then doubling (Rabenseifner's algorithm): partners at distance 1, 2, 4, ... exchange halves of
/// what is left to sum, until each has 1 / n of the buffer summed; then the distances shrink and the finished parts
/// double. For powers of two 2 (n - 1) / n of the buffer sent, the least there is, in 2 log2 n steps; else the ranks
/// beyond hand their buffers in first and get the result last. The nearest are paired first, as in a binary tree, so
/// the sums of a power of two are canonical.
///
/// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036.
// Cost, of powers of two and of others:
//   all_reduce: 2 h alpha + 2 (q - 1) / q bytes beta + (q - 1) / q bytes gamma, h = floor(log2 n), q = 2^h;
//     unless n = q, 2 alpha + 2 bytes beta + bytes gamma more
//   reduce_scatter: h alpha + (n - 1) / n bytes (beta + gamma), h = floor(log2 n), q = 2^h;
//     unless n = q, 2 alpha + (1 + 1 / n) bytes beta + bytes gamma more, and up to q / n bytes (beta + gamma) on top of
//     that
//   all_gather: h alpha + (n - 1) / n bytes beta, h = floor(log2 n), q = 2^h;
//     unless n = q, 2 alpha + bytes beta more, and up to q / n bytes beta on top of that
Schedule halving_doubling(const ScheduleRequest& request) {
  return halve_and_double("halving_doubling", request, bit_partner);
}

}  // namespace lockstep::algorithm
