#pragma once

#include "tests/conformance/run_ranks.h"

#include <lockstep/world.h>

#include <functional>
#include <string>
#include <vector>

namespace lockstep::testing_support {

/// The error that `f` throws on each rank, by rank; empty where none.
inline std::vector<std::string> errors_on(int ranks, const std::function<void(World&)>& f) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](World& world) {
    try {
      f(world);
    } catch (const Error& error) {
      errors[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  return errors;
}

}  // namespace lockstep::testing_support
