#pragma once

#include <cstddef>

namespace lockstep::tcp {

/// MessageTransport::piece_bytes where all ranks talk over loopback, whose copies are the cores' own work: what a rank
/// has summed or received is still in a cache when it sends it on (docs/design/tcp_speed.md).
inline constexpr std::size_t kPieceBytesOverLoopback = std::size_t{1} << 20;

}  // namespace lockstep::tcp
