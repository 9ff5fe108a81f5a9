#pragma once

#include "schedule/schedule.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What a person types, instead of an algorithm, for the library beneath the transport to do a whole collective. There
/// is no schedule of that name.
inline constexpr std::string_view kVendor = "vendor";

/// What a person asks an algorithm for.
struct ScheduleRequest {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int root = 0;                                 ///< where the collective has one (has_root in base/collective.h)
  std::optional<int> only_rank = std::nullopt;  ///< one rank's view; the whole schedule without it
  std::vector<int> hosts = {};                  ///< of each rank, by any numbers; empty: all ranks are on one host
};

/// One algorithm of the catalogue: its name as typed by a person, a line about it, the collectives that it does, and
/// the function that writes it.
struct Algorithm {
  std::string name;
  std::string description;
  std::vector<Collective> collectives;
  std::function<Schedule(const ScheduleRequest& request)> write;
  std::string use;  ///< when to choose it: completes "Use it ...", as the guide does

  bool supports(Collective collective) const;
  /// Throws Error (kInvalidArgument) if it does not do this collective, naming what it does and those that do.
  void require_support(Collective collective) const;
  /// Throws as require_support(), and Error (kInvalidArgument) if there is no such rank or root, or if there are not as
  /// many hosts as ranks.
  Schedule build(const ScheduleRequest& request) const;
};

/// Every algorithm, in the order that lists print them. Besides these there are compositions of any two that do an
/// all_reduce, hierarchical:LOCAL,GLOBAL, which do what both do of all_reduce, reduce_scatter, all_gather, broadcast,
/// reduce and barrier; and each of all these as a pipeline, segmented:K:ALGORITHM.
const std::vector<Algorithm>& algorithms();

/// As a person may type them, with what stands for all compositions and for all pipelines at the end.
std::vector<std::string_view> algorithm_names();

/// The names of those that do the collective.
std::vector<std::string_view> algorithms_for(Collective collective);

/// Whether there are compositions for the collective, but for a barrier, and they are more than their parts: where some
/// ranks share a host and others do not. `hosts` as in ScheduleRequest.
bool has_compositions(Collective collective, const std::vector<int>& hosts);

/// What "all" stands for: those that do the collective and, if it has compositions, some of them and of their
/// pipelines: the textbook's, and those that "auto" may be.
std::vector<std::string> all_algorithms(Collective collective, const std::vector<int>& hosts);

/// Of each name the first among them that stands for the same schedule: of two ranks a tree is a star. What is no
/// algorithm of the catalogue (`vendor`, a file) stands for itself alone. Throws as Algorithm::build().
std::map<std::string, std::string> first_alike(const std::vector<std::string>& names, const ScheduleRequest& request);

/// Whether it is the name of an algorithm, or begins as a composition or a pipeline does.
bool is_algorithm(std::string_view name);

/// LOCAL and GLOBAL of hierarchical:LOCAL,GLOBAL; none for any other name. Throws as find_algorithm().
struct Composition {
  std::string local;
  std::string global;
};
std::optional<Composition> composition_of(std::string_view name);

/// K and ALGORITHM of segmented:K:ALGORITHM, which may be a composition; none for any other name. Throws Error
/// (kInvalidArgument) if K is no number that can be, or ALGORITHM a pipeline too.
struct Pipeline {
  int segments;
  std::string algorithm;
};
std::optional<Pipeline> pipeline_of(std::string_view name);

/// The algorithm of that name, "ring", "hierarchical:direct,ring" or "segmented:8:ring". Throws Error
/// (kInvalidArgument) naming the nearest right word, or what a composition or a pipeline takes.
Algorithm find_algorithm(std::string_view name);
/// The same; the error begins with who names it, as a variable of the environment.
Algorithm find_algorithm(std::string_view name, std::string_view named_by);

}  // namespace lockstep
