#include "group/engine.h"
#include "transport/shm/here.h"
#include "transport/shm/thread_host.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/tcp/thread_host.h"

#include <utility>

namespace lockstep::detail {

std::unique_ptr<Engine> make_lone_engine() {
  // It shares memory with nobody, so it can do without.
  if (shm::why_not_here(1)) return make_engine(tcp::create(std::move(tcp::thread_hosts(1).front())));
  return make_engine(shm::create(std::move(shm::thread_hosts(1).front())));
}

}  // namespace lockstep::detail
