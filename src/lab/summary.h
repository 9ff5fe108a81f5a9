#pragma once

#include "lab/journal.h"
#include "lab/training_trace.h"

#include <lockstep/world.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// How a training ended, for people.
struct Ending {
  std::string result;                     ///< after the losses, as "validation loss 1.2345"
  std::string verdict;                    ///< what limited it, in words
  std::string sample;                     ///< for the report; empty: none
  std::filesystem::path kept;             ///< the checkpoint or model that stays
  std::vector<MemoryRecord> memory = {};  ///< for the report
  double seconds = 0;                     ///< of the iterations, without evaluation and checkpoints
};

/// What rank 0 does after a training: closes the journal, writes report.html, summary.json and trace.json (merged from
/// the ranks' parts, which must be in the folder), and prints the curve of losses and the result. Throws Error (kIo).
void summarize(const OutputOptions& options, const Ending& ending, Journal& journal);

/// Where those files, and what is kept, lie.
void print_files(const OutputOptions& options, const Ending& ending, const TrainingTrace& trace);

}  // namespace lockstep::lab
