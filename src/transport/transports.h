#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep {

enum class TransportKind : std::uint8_t { kSharedMemory, kTcp, kMpi };

/// A transport that may be asked for by its name, and what it answers before it is used.
struct NamedTransport {
  TransportKind kind;
  const char* name;     ///< as LOCKSTEP_TRANSPORT has it
  const char* between;  ///< which ranks
  /// None if it can work on this machine, with so many ranks here, else why not, in a sentence.
  std::optional<std::string> (*why_not_here)(int ranks_here);
};

/// All there are, in the order of their kinds.
const std::array<NamedTransport, 3>& named_transports();

}  // namespace lockstep
