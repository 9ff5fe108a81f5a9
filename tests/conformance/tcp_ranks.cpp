#include "group/thread_world.h"
#include "tests/conformance/run_ranks.h"
#include "transport/tcp/thread_host.h"

namespace lockstep::testing_support {

void run_ranks(int n, const std::function<void(World&)>& f) {
  std::vector<std::unique_ptr<detail::Engine>> engines;
  for (tcp::Host& host : tcp::thread_hosts(n)) engines.push_back(detail::make_engine(tcp::create(std::move(host))));
  detail::run_threads_over(std::move(engines), f);
}

bool ranks_see_memory() { return false; }

}  // namespace lockstep::testing_support
