#pragma once

#include "transport/tcp/tcp_socket.h"

#include <chrono>

namespace lockstep::tcp {

inline Deadline in(std::chrono::milliseconds duration) { return std::chrono::steady_clock::now() + duration; }

}  // namespace lockstep::tcp
