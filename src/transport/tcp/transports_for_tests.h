#pragma once

#include "transport/tcp/thread_host.h"

#include <functional>
#include <thread>
#include <vector>

namespace lockstep::tcp {

/// Ranks as threads, each with a transport over real connections; `run` is called in each.
inline void on_transports(int ranks, const std::function<void(MessageTransport&)>& run) {
  std::vector<Host> hosts = thread_hosts(ranks);
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
