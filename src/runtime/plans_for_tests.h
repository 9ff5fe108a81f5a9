#pragma once

#include "runtime/plan.h"

#include <fmt/format.h>

#include <string>

namespace lockstep {

inline constexpr TransferKind kCopy = TransferKind::kCopy;
inline constexpr TransferKind kReduce = TransferKind::kReduce;

inline std::string describe(const std::vector<Plan::Wait>& waits) {
  std::string text;
  for (const Plan::Wait& wait : waits) text += fmt::format(" {}>={}", wait.peer, wait.ticks);
  return text;
}

/// As "in2" for rank 2's input, "out0", "stage1.0" for version 0 in rank 1's staging area, "stage1.0<>0.2.1" where it
/// trades places with rank 0's version 2 of chunk 1.
inline std::string describe(const Plan::Place& place) {
  switch (place.memory) {
    case Plan::Memory::kInput: return fmt::format("in{}", place.rank);
    case Plan::Memory::kOutput: return fmt::format("out{}", place.rank);
    case Plan::Memory::kStaging: break;
  }
  if (!place.twin) return fmt::format("stage{}.{}", place.rank, place.version);
  return fmt::format("stage{}.{}<>{}.{}.{}", place.rank, place.version, place.twin->rank, place.twin->version,
                     place.twin->chunk);
}

/// A line a step: when it starts, what it waits for, and each move as CHUNK: OPERANDS -> TARGETS, with ! if it
/// finishes.
inline std::string describe(const Plan& plan) {
  std::string text;
  for (const Plan::Step& step : plan.steps) {
    text += fmt::format("{} after{}", step.ticks_before, describe(step.before));
    for (const Plan::Move& move : step.moves) {
      text += fmt::format(" | {}:", move.chunk);
      for (const Plan::Place& place : move.operands) text += " " + describe(place);
      text += " ->";
      for (const Plan::Place& place : move.targets) text += " " + describe(place);
      if (move.finishes) text += " !";
    }
    text += '\n';
  }
  return text + fmt::format("{} end after{}", plan.ticks, describe(plan.after));
}

}  // namespace lockstep
