#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// What OpenBLAS has to be told that this machine's cores are, as a value of OPENBLAS_CORETYPE; empty where it need not
/// be told. A release older than the processor takes it for one of 2004 (Prescott, with SSE3) and multiplies matrices
/// at a fraction of its speed: Debian 12's 0.3.21 does so on Intel's of 2023 (family 6, model 207). `chosen`: what it
/// took by itself; `flags`: the processor's, as /proc/cpuinfo has them.
std::string openblas_core_type(std::string_view chosen, std::string_view flags);

/// What the machine's libopenblas.so.0 takes its cores for; empty where there is no such library. It is asked in a
/// process of its own, since it starts threads where it is loaded.
std::string openblas_choice();

/// The flags of the first processor in /proc/cpuinfo; empty where it has none.
std::string processor_flags();

}  // namespace lockstep
