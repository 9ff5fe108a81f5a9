#include "algorithms/halving.h"

namespace lockstep::algorithm {

/// Recursive halving, then doubling (Rabenseifner's algorithm): partners at distance 1, 2, 4, ... exchange halves of
/// what is left to sum, until each has 1 / p of the buffer summed; then the distances shrink and the finished parts
/// double. For powers of two 2 (p - 1) / p of the buffer sent, the least there is, in 2 log2 p steps; else the ranks
/// beyond hand their buffers in first and get the result last. The nearest are paired first, as in a binary tree, so
/// the sums of a power of two are canonical.
///
/// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036.
// Cost, of powers of two and of others:
//   all_reduce: 2 H alpha + 2 (q - 1) / q n beta + (q - 1) / q n gamma, H = floor(log2 p), q = 2^H;
//     unless p = q, 2 alpha + 2 n beta + n gamma more
//   reduce_scatter: H alpha + (p - 1) / p n (beta + gamma), H = floor(log2 p), q = 2^H;
//     unless p = q, 2 alpha + (1 + 1 / p) n beta + n gamma more, and up to q / p n (beta + gamma) on top of
//     that
//   all_gather: H alpha + (p - 1) / p n beta, H = floor(log2 p), q = 2^H;
//     unless p = q, 2 alpha + n beta more, and up to q / p n beta on top of that
Schedule halving_doubling(const ScheduleRequest& request) {
  return halve_and_double("halving_doubling", request, bit_partner);
}

}  // namespace lockstep::algorithm
