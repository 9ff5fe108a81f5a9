#pragma once

#include "study/cost_model.h"
#include "study/options.h"
#include "study/shaped_network.h"
#include "study/workbench.h"

#include <memory>
#include <string>
#include <vector>

namespace lockstep::study {

/// What ranks of a study talk over, and what that is predicted to cost.
struct Medium {
  std::string name;                        ///< "shared memory", "TCP at 1 Gbit/s"
  std::string about;                       ///< where its predictions come from, and that they saw no swept point
  std::unique_ptr<ShapedNetwork> network;  ///< null: shared memory
  CostModel model;
  std::map<int, FlatCost> links;    ///< by ranks: a ring's alpha and beta, for words
  std::vector<std::uint64_t> seen;  ///< sizes that its calibration measured

  bool shares_memory() const { return network == nullptr; }
};

Medium shared_memory(Workbench& workbench, int most_ranks);

/// With a card of `options.bytes_per_second` each rank, calibrated at two sizes of a ring for 2 to `options.ranks`
/// ranks. Throws Error (kUnsupported) where it cannot be made.
Medium shaped_link(Workbench& workbench, const StudyOptions& options);

/// Both, the link where it is asked for; where it cannot be made, `skipped` says so in a sentence.
std::vector<Medium> media(Workbench& workbench, const StudyOptions& options, std::string& skipped);

/// A size of whole float32 elements, one at least, that the calibration has not seen: of one that it has, a smaller one
/// nearby, or a larger one where there is none.
std::uint64_t unseen(std::uint64_t bytes, const Medium& medium);

/// Bytes of the all-reduces alone on so many ranks, ascending and unseen: what is swept, on the most ranks, and on any
/// the training's gradient.
std::vector<std::uint64_t> sizes_for(int ranks, std::uint64_t gradient, const StudyOptions& options,
                                     const Medium& medium);

}  // namespace lockstep::study
