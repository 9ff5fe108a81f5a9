#pragma once

#include "planner/one_host/machine.h"

namespace lockstep {

/// With a first cache of 48 KiB, 1 MiB a core of its own and 32 MiB that all share.
inline Machine machine_for_tests(int cores = 2) {
  return {.processor = "test",
          .cores = cores,
          .memory_bytes = 1e9,
          .cache_bytes_first = 48 << 10,
          .cache_bytes_a_core = 1 << 20,
          .cache_bytes_shared = 32 << 20};
}

/// The same, of another make.
inline Machine machine_for_tests_with(const char* processor, int cores = 2) {
  Machine machine = machine_for_tests(cores);
  machine.processor = processor;
  return machine;
}

}  // namespace lockstep
