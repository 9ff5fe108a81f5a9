#pragma once

#include "group/thread_world.h"
#include "transport/tcp/thread_host.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

/// run_threads over sockets.
inline void on_tcp(int ranks, const std::function<void(World&)>& f) {
  std::vector<std::unique_ptr<detail::Engine>> engines;
  for (tcp::Host& host : tcp::thread_hosts(ranks)) engines.push_back(detail::make_engine(tcp::create(std::move(host))));
  detail::run_threads_over(std::move(engines), f);
}

}  // namespace lockstep
