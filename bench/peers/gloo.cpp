// Gloo's allreduce over its TCP transport for bench/compare: what PyTorch's CPU backend runs.
#include "bench/memory.h"
#include "bench/peers/peer.h"

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <iostream>

namespace {

using Sum = void (*)(void*, const void*, const void*, std::size_t);

class AllReduce final : public lockstep::bench::Subject {
 public:
  explicit AllReduce(std::shared_ptr<gloo::Context> context) : context_(std::move(context)) {}
  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void run(const lockstep::Buffer& buffer) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(static_cast<float*>(buffer.data), buffer.count);
    options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

 private:
  std::shared_ptr<gloo::Context> context_;
};

std::shared_ptr<void> allocate(std::size_t bytes, bool) { return lockstep::bench::allocate_plain(bytes); }

int variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

int main() {
  try {
    const int rank = variable("RANK");
    const int ranks = variable("WORLD_SIZE");
    const char* folder = std::getenv("LOCKSTEP_COMPARE_STORE");
    gloo::rendezvous::FileStore store(folder == nullptr ? "." : folder);
    gloo::transport::tcp::attr address;
    address.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(address);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
    AllReduce subject(context);
    return lockstep::compare::serve({rank, ranks, subject, allocate});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
