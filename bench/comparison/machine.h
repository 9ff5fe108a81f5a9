#pragma once

#include <string>

namespace lockstep::compare {

/// A paragraph: the CPU, its cores and cache, the system, the peers' versions, and how busy the machine was.
std::string describe_machine();

}  // namespace lockstep::compare
