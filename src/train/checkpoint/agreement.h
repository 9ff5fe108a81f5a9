#pragma once

#include <lockstep/group.h>

#include <functional>

namespace lockstep {

/// Does on every rank what may fail on some, and goes on only if it failed on none. Else every rank throws the error of
/// the lowest rank that failed: its code, and "Rank 1: " before its text. `work` must not communicate. Collective.
void agree(const Group& group, const std::function<void()>& work);

/// The root's text, on every rank. Collective.
std::string broadcast_text(const Group& group, std::string text, int root);

}  // namespace lockstep
