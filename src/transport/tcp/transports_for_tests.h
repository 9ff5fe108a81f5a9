#pragma once

#include "transport/tcp/thread_host.h"

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace lockstep::tcp {

/// Ranks as threads, each with a transport over real connections, which asks for such pieces of large buffers; `run` is
/// called in each.
inline void on_transports(int ranks, const std::function<void(MessageTransport&)>& run, std::size_t piece_bytes = 0) {
  std::vector<Host> hosts = thread_hosts(ranks);
  for (Host& host : hosts) host.piece_bytes = piece_bytes;
  std::vector<std::jthread> threads;
  threads.reserve(hosts.size());
  for (Host& host : hosts) {
    threads.emplace_back([&run, &host] {
      const auto transport = create(std::move(host));
      run(*transport);
    });
  }
}

}  // namespace lockstep::tcp
