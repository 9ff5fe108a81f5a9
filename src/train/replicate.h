#pragma once

#include <lockstep/group.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/module_tensors.h"

namespace lockstep {

/// FNV-1a, 64 bits (Fowler, Noll, Vo): the same on every platform, as std::hash is not.
std::int64_t fingerprint(std::string_view text);

/// What must be the same of them on all ranks, for require_equal.
std::vector<std::pair<std::string, std::string>> descriptions_of(const std::vector<ModuleTensor>& tensors);

/// Whose things are compared, as the error says it.
struct Compared {
  std::string what = "replicas";
  std::string advice = "Build the same module with the same options on every rank.";
  std::string operation = "DataParallel";
};

/// Throws Error (kMismatch) on every rank, naming the first line that differs, unless all ranks give the same list of
/// things, each said as (name, what it is). Collective.
void require_equal(const Group& group, const std::vector<std::pair<std::string, std::string>>& things,
                   const Compared& compared = {});

/// Throws Error (kMismatch) on every rank: what some rank has to say, of several the first. `owner` ("DataParallel") is
/// who refuses. Collective.
[[noreturn]] void refuse_together(const Group& group, const std::string& sentence, const std::string& owner);

/// Gives every rank the values that rank 0's tensors have. The tensors agree in number, shapes and types. Collective.
void broadcast_values(const Group& group, const std::vector<ModuleTensor>& tensors);

}  // namespace lockstep
