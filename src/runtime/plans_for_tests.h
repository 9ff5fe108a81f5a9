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

/// As "in2" for rank 2's input, "out0", "stage1.0" for version 0 in rank 1's staging area, "stage1.0>0.2.1" where it
/// goes on to the place of rank 0's version 2 of chunk 1.
inline std::string describe(const Plan& plan, const Plan::Place& place) {
  switch (place.memory) {
    case Plan::Memory::kInput: return fmt::format("in{}", place.rank);
    case Plan::Memory::kOutput: return fmt::format("out{}", place.rank);
    case Plan::Memory::kStaging: break;
  }
  const std::string own = fmt::format("stage{}.{}", place.rank, place.version);
  if (!place.seat.rotates()) return own;
  const Plan::Stage next = plan.stage_of(place, 0, 1);
  return own + fmt::format(">{}.{}.{}", next.rank, next.version, next.chunk);
}

/// A line a step: when it starts, what it waits for, and each move as CHUNK: OPERANDS -> TARGETS, with ! if it
/// finishes; at last, what is waited for before the staging area is used by another plan, and by this one.
inline std::string describe(const Plan& plan) {
  std::string text;
  for (const Plan::Step& step : plan.steps) {
    text += fmt::format("{} after{}", step.ticks_before, describe(step.before));
    for (const Plan::Move& move : step.moves) {
      text += fmt::format(" | {}:", move.chunk);
      for (const Plan::Place& place : move.operands) text += " " + describe(plan, place);
      text += " ->";
      for (const Plan::Place& place : move.targets) text += " " + describe(plan, place);
      if (move.finishes) text += " !";
    }
    text += '\n';
  }
  text += fmt::format("{} end after{}", plan.ticks, describe(plan.after));
  return plan.rotations.empty() ? text : text + fmt::format(", turning after{}", describe(plan.after_turning));
}

}  // namespace lockstep
