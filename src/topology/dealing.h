#pragma once

namespace lockstep {

/// Which of so many shares of the cores a rank works on, of no fewer ranks: neighbours share. Where an algorithm's
/// neighbours exchange most, most stays within a core's own cache.
constexpr int share_of(int rank, int ranks, int shares) { return rank * shares / ranks; }
/// The first of the ranks on that share.
constexpr int first_on(int share, int ranks, int shares) { return (share * ranks + shares - 1) / shares; }

}  // namespace lockstep
