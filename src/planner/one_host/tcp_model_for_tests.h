#pragma once

#include "planner/one_host/tcp_model.h"

namespace lockstep {

/// Two cores, and prices as an AMD EPYC of 2023 has them.
inline TcpModel tcp_model_for_tests(int most_ranks) {
  TcpModel model{.seconds = {}, .cores = 2, .most_ranks = most_ranks};
  model.seconds.values = {2e-6,    4.5e-6,  2e-6,  1e-6,  3e-6,  8e-7,  2e-10,
                          1.6e-10, 1.4e-10, 2e-10, 1e-10, 3e-11, 8e-11, 4e-11};
  return model;
}

}  // namespace lockstep
