#pragma once

#include "bench/result.h"

#include <lockstep/world.h>

#include <functional>

namespace lockstep::bench {

/// Called on rank 0 as soon as something can be printed: once with no row, when the limit is known, then with each row.
using Progress = std::function<void(const Result& so_far, const Row* row)>;

/// Measures in this world, or in groups of it that run side by side; every rank calls it with the same options and gets
/// the same result. Throws Error: kInvalidArgument for options that make no sense, and what operations throw.
Result run(const World& world, const Options& options, const Progress& progress);

/// Throws Error (kInvalidArgument) for what is wrong with the options whatever the world.
void check(const Options& options);

/// The sizes in bytes, for `ranks` ranks, none of them less than --min-bytes: elements and, where the collective has
/// them, blocks are whole. Throws Error (kInvalidArgument) where none is small enough.
std::vector<std::size_t> sizes(const Options& options, int ranks);

/// Whether a launcher started this process as a rank among several.
bool in_a_job();

/// Has this process, a rank of a job, count to a host of its own with so many neighbours in rank: for its world to
/// come.
void pretend_hosts(int ranks_a_host);

}  // namespace lockstep::bench
