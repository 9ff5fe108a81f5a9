#pragma once

#include "study/buckets.h"
#include "study/options.h"
#include "study/scaling.h"
#include "study/sharding.h"
#include "study/workbench.h"

namespace lockstep::study {

// Each runs what its page is about, some minutes long. They throw as Workbench.

BucketStudy measure_buckets(Workbench& workbench, const StudyOptions& options);
ScalingStudy measure_scaling(Workbench& workbench, const StudyOptions& options);
ShardingStudy measure_sharding(Workbench& workbench, const StudyOptions& options);

/// Throws Error with what is wrong with the training's flags or input, before anything is measured: kInvalidArgument,
/// or kUnsupported where the training ends in another way than by refusing them; and what else Workbench throws.
void check_input(Workbench& workbench, const StudyOptions& options);

/// The flags of the training that a study runs: what was asked for, after what suits a study.
std::vector<std::string> training_flags(const Workbench& workbench, const StudyOptions& options);
/// Of the rounds of a point: what other programs take away makes it longer and never shorter.
double least(const std::vector<double>& rounds);
/// "text: GPT, 6 layers, 192 wide, 2,668,800 parameters".
std::string describe_training(const TrainingRun& run);
/// "Measured on 2 cores of ..., one thread a rank: each iteration's time is ...", and a sentence on communication
/// alone.
std::string describe_rounds(const StudyOptions& options, const std::string& communication);
/// That sentence where it is TrainingRun::least_exposed_ms of iterations without overlap.
inline constexpr const char* kLeastCommunication =
    "Communication alone is the least of all iterations: that in which the rank that recorded it waited for nobody.";

}  // namespace lockstep::study
