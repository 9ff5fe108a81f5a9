#pragma once

#include <optional>
#include <string>

namespace lockstep::tcp {

/// How large a send buffer to ask the system for; nothing where it grows to more if left alone. Bytes are only sent
/// while somebody moves them, between two gradients for one, so that what is in the buffer is what a link has until
/// then: 4 MiB are 7 ms of 5 Gbit/s, and a matrix product may take longer.
///
/// `wmem_max`, `tcp_wmem`: what net.core.wmem_max and net.ipv4.tcp_wmem say. A buffer that is asked for is twice the
/// former at most and stays so; another grows up to the third number of the latter. Text that is none of a number's
/// counts as unknown.
std::optional<int> send_buffer_bytes(const std::string& wmem_max, const std::string& tcp_wmem);

/// The bytes to ask this system for, whose text is read once. `takes_turns`: ranks that share cores send to each other
/// over loopback. They work in turns, so that nothing is gained by what is on its way beyond what a core has nearest
/// (docs/design/tcp_speed.md has what that is worth).
std::optional<int> send_buffer_bytes(bool takes_turns);

}  // namespace lockstep::tcp
