#pragma once

#include <lockstep/loader.h>

#include <cstdint>
#include <vector>

namespace lockstep::test {

/// The targets, which are whole numbers, of what is left of the loader's epoch.
inline std::vector<std::int64_t> rest_of(Loader& loader) {
  std::vector<std::int64_t> seen;
  for (auto& batch : loader.epoch()) {
    for (std::int64_t i = 0; i < batch.samples; ++i) seen.push_back(batch.target[i].item<std::int64_t>());
  }
  return seen;
}

}  // namespace lockstep::test
