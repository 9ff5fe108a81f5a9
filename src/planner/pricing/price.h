#pragma once

#include "algorithms/catalog.h"
#include "planner/calibration/calibration.h"
#include "planner/network/closed_form.h"
#include "planner/network/count.h"
#include "planner/network/link_use.h"
#include "planner/network/simulate.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Where prices are asked for: a flat network, one that a file describes, or this machine as it was calibrated.
struct PricedNetwork {
  std::optional<FlatCost> flat;                   ///< of as many ranks as are asked for
  std::optional<NetworkDescription> description;  ///< where it is not flat
  /// For algorithms that distinguish hosts: neighbours on each, though a flat network costs the same everywhere; none:
  /// all are on one.
  std::optional<int> local_size = std::nullopt;
  std::shared_ptr<const Calibration> calibration = nullptr;  ///< where it is neither: of ranks on one host
  Medium medium = Medium::kSharedMemory;                     ///< by which these talk: memory or TCP

  /// Its first `ranks` ranks. Throws Error (kInvalidArgument) if it has fewer.
  NetworkDescription of(int ranks) const;
  /// On which host each of these is; empty where that is the same for all.
  std::vector<int> hosts_of(int ranks) const;
};

/// A schedule of more transfers than this is not simulated.
inline constexpr double kMostSimulatedTransfers = 4e6;
/// Nor one that takes more than this, which is a second or two.
inline constexpr Effort kMostSimulatedEffort{.messages_at_once = 5e5, .looked_at = 5e7};
/// Nor does a calibration tell the price of a longer one than this.
inline constexpr double kMostCalibratedTransfers = 2e4;

struct PriceRequest {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int root = 0;  ///< where the collective has one
  double bytes = 0;
  int segments = 1;  ///< slices of each chunk, which follow each other through the steps (schedule/segmented.h)
  double most_transfers = kMostSimulatedTransfers;
  Effort most_effort = kMostSimulatedEffort;
};

/// What an algorithm costs.
struct Price {
  enum class Source : std::uint8_t { kSimulated, kCalibrated, kClosedForm, kNone };

  std::string algorithm;
  Source source = Source::kNone;
  std::string note;  ///< the formula and where it is from, or why there is no price
  Estimate estimate;
  Busiest busiest;
  std::optional<Counts> counts;  ///< where the schedule was built
  LinkUses links;                ///< none where it follows a calibration
};

/// "simulated", "calibrated", "closed form", "none": as tables and JSON say it.
std::string_view to_string(Price::Source source);
/// "out", "memory": as tables and JSON name a kind of link.
std::string_view to_string(Wiring::Kind kind);

/// The seconds that a schedule takes at any size: simulated on the network, or as the calibration predicts. None where
/// its simulation takes more than is `left`, if that is given; it must outlive the function.
std::function<std::optional<double>(double bytes)> timing(const Schedule& schedule, const PricedNetwork& network,
                                                          Effort* left = nullptr);

/// A whole schedule, by timing() of it. A barrier moves no bytes, whatever is asked.
std::optional<Price> price_schedule(const Schedule& schedule, double bytes, const PricedNetwork& network,
                                    const Effort& most = {});

/// An algorithm of the catalogue: by timing() if its schedule is small enough and its simulation no more work
/// than may be, else by its closed form if there is one and the network is flat.
Price price_algorithm(std::string_view algorithm, const PriceRequest& request, const PricedNetwork& network);

/// The algorithm's schedule for the request, where the ranks are on these hosts (ScheduleRequest::hosts).
Schedule schedule_for(std::string_view algorithm, const PriceRequest& request, std::vector<int> hosts = {});

/// The formula that tells the request's price; none where there is none that we know, on a network that is not flat,
/// and for a pipeline, of which the formulas say nothing.
std::optional<ClosedForm> closed_form_for(std::string_view algorithm, const PriceRequest& request,
                                          const PricedNetwork& network);

/// The number of transfers that an algorithm's schedule would have in one segment, without building it: exact to a few
/// percent. Infinite where it would have more chunks than are built (algorithms/hierarchical.cpp).
double estimated_transfers(std::string_view algorithm, Collective collective, int ranks);
/// The same of what is asked to be built, on its hosts.
double estimated_transfers(std::string_view algorithm, const ScheduleRequest& request);
/// The same for a request, in its segments, on the hosts of this network.
double estimated_transfers(std::string_view algorithm, const PriceRequest& request, const PricedNetwork& network);

}  // namespace lockstep
