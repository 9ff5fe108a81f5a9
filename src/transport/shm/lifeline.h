#pragma once

#include "base/file_descriptor.h"

#include <vector>

namespace lockstep::shm {

/// A pipe that nobody writes into. Its owner keeps one end; who holds the other sees it hang up when the owner's
/// process ends, however it ends, because the kernel closes what a process had open. Children that are forked later do
/// not hold it.
struct Lifeline {
  FileDescriptor owner_end;
  FileDescriptor watch_end;
  static Lifeline create();
};

/// Indices of the watch ends whose owner is gone. Invalid descriptors are passed over. Never waits.
std::vector<int> hung_up(const std::vector<FileDescriptor>& watch_ends);

}  // namespace lockstep::shm
