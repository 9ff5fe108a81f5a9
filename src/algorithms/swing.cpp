#include "algorithms/halving.h"

namespace lockstep::algorithm {

/// Swing: recursive halving, then doubling, with partners at distance 1, -1, 3, -5, 11, ... around a ring of the ranks,
/// even ranks one way and odd ones the other. The steps and bytes are those of halving_doubling, but the way is
/// shorter: about a third of the ring instead of half, so that less of the sum meets on a link that several ranks
/// share. Ranks beyond a power of two stand behind a neighbour, as in halving_doubling.
///
/// Source: De Sensi, Bonato, Saam, Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024.
// Cost, of powers of two and of others:
//   all_reduce: 2 H alpha + 2 (q - 1) / q n beta + (q - 1) / q n gamma, H = floor(log2 p), q = 2^H;
//     unless p = q, 2 alpha + 2 n beta + n gamma more
//   reduce_scatter: H alpha + (p - 1) / p n (beta + gamma), H = floor(log2 p), q = 2^H;
//     unless p = q, 2 alpha + (1 + 1 / p) n beta + n gamma more, and up to q / p n (beta + gamma) on top of
//     that
//   all_gather: H alpha + (p - 1) / p n beta, H = floor(log2 p), q = 2^H;
//     unless p = q, 2 alpha + n beta more, and up to q / p n beta on top of that
Schedule swing(const ScheduleRequest& request) { return halve_and_double("swing", request, swing_partner); }

}  // namespace lockstep::algorithm
