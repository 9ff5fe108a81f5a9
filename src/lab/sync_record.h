#pragma once

#include "lab/output_options.h"
#include "report/record.h"

#include <lockstep/data_parallel.h>
#include <lockstep/group.h>

namespace lockstep::lab {

/// What is reported of a bucket.
BucketRecord record_of(const BucketTiming& bucket);

/// Of the time that communication was under way, what the calling thread computed beside: with the exposed time it is
/// all communication of the iteration, T_comm.
double hidden_ms(const SyncReport& report);

/// The record of an iteration that took `total_ms`, of which `report` tells the last synchronised backward: times,
/// bytes, algorithm, and each bucket where it is asked for. What the iteration came to is left to the caller.
IterationRecord record_of(const Group& group, const SyncReport& report, double total_ms, const OutputOptions& options);

}  // namespace lockstep::lab
