#pragma once

#include "planner/network/load_forms.h"
#include "topology/network.h"

#include <lockstep/types.h>

#include <functional>
#include <string_view>
#include <vector>

namespace lockstep {

/// What a formula says of an algorithm on a flat network (flat_network in topology/network.h).
struct Estimate {
  double seconds = 0;
  double steps = 0;
  double messages = 0;
  double bytes = 0;            ///< in all
  double most_sent_bytes = 0;  ///< of one rank
};
/// After one another, where the same rank sends the most.
Estimate operator+(const Estimate& first, const Estimate& second);

/// A formula of the literature for one algorithm and collective, for p ranks and n bytes. Written from the text, not
/// from the schedule: that simulated schedules agree with it is a test of both.
struct ClosedForm {
  std::string_view algorithm;
  Collective collective;
  std::string_view formula;  ///< of the time, with p, n, h = ceil(log2 p), alpha, beta, gamma, in a form that
                             ///< tests/cost reads, which holds it to `evaluate`
  std::string_view source;
  std::function<Estimate(double ranks, double bytes, const FlatCost& cost)> evaluate;
  LoadForm loads = {};  ///< who does how much of it
};

const std::vector<ClosedForm>& closed_forms();

/// The formula of an algorithm; none where the literature has none that we know.
const ClosedForm* find_closed_form(std::string_view algorithm, Collective collective);

}  // namespace lockstep
