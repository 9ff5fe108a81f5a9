#pragma once

#include "lab/training.h"

#include <string>

namespace lockstep::lab {

/// What is said of a run before it begins. `command` is shown as typed.
RunRecord describe_run(const TextTask& task, int world_size, const std::string& command);

/// What rank 0 does after a training: generates the sample, writes report.html and trace.json (merged from the ranks'
/// parts, which must be in the folder) and prints how it ended. Throws Error (kIo).
void summarize(TextTask& task, TextOutcome& outcome, const TrainingTrace& trace, Journal& journal);

}  // namespace lockstep::lab
