#pragma once

#include <lockstep/hooks.h>

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.h"

inline const std::vector<std::string> kHooks = {"bfloat16", "float16",       "int8",      "sign",
                                                "qsgd",     "top_k",         "threshold", "adaptive_threshold",
                                                "random_k", "deep_gradient", "power_sgd"};

/// A hook by its name, which is one of kHooks. `warmup` is deep_gradient's.
inline lockstep::BucketHookPtr hook_of(const std::string& name, const lockstep::Group& group,
                                       std::int64_t warmup = 64) {
  const auto dense = lockstep::all_reduce_hook(group);
  // What is lost of one gradient is added to the next, where that is more than rounding.
  const auto feedback = lockstep::error_feedback;
  if (name == "bfloat16") return lockstep::cast_hook(torch::kBFloat16, dense);
  if (name == "float16") return lockstep::cast_hook(torch::kFloat16, dense);
  if (name == "int8") return feedback(lockstep::int8_hook(group));
  if (name == "sign") return feedback(lockstep::sign_hook(group, 64));
  if (name == "qsgd") return lockstep::qsgd_hook(group, /*levels=*/7, /*seed=*/7);
  if (name == "top_k") return feedback(lockstep::top_k_hook(group, 0.05));
  if (name == "threshold") return feedback(lockstep::threshold_hook(group, 0.01));
  if (name == "adaptive_threshold") return feedback(lockstep::adaptive_threshold_hook(group, 0.05));
  if (name == "random_k")  // of which the values then go in 16 bits
    return feedback(lockstep::random_k_hook(0.5, 7, lockstep::cast_hook(torch::kBFloat16, dense)));
  if (name == "deep_gradient") return lockstep::deep_gradient_hook(group, {.fraction = 0.02, .warmup = warmup});
  if (name == "power_sgd") return feedback(lockstep::power_sgd_hook(group, /*rank=*/1, 7));  // of two thin matrices
  refuse("There is no hook '" + name + "'.");
}
