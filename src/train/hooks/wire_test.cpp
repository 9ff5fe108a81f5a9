// What hooks say that they send is what a network is given to carry.
#include <gtest/gtest.h>
#include <lockstep/hooks.h>
#include <lockstep/traffic.h>

#include "group/thread_world.h"
#include "train/test_model.h"
#include "transport/tcp/thread_host.h"

namespace lockstep {
namespace {

void on_tcp(int ranks, const std::function<void(World&)>& f) {
  std::vector<std::unique_ptr<detail::Engine>> engines;
  for (tcp::Host& host : tcp::thread_hosts(ranks)) engines.push_back(detail::make_engine(tcp::create(std::move(host))));
  detail::run_threads_over(std::move(engines), [&f](World& world) {
    at::set_num_threads(1);
    f(world);
  });
}

/// A bucket of one matrix, of numbers that differ from rank to rank.
GradientBucket bucket_of(const Group& group) {
  GradientBucket bucket;
  bucket.flat = torch::sin(torch::arange(1 << 20, torch::kFloat32) * (1.3 + group.rank()));
  bucket.parameters = {"matrix"};
  bucket.gradients = {bucket.flat.view({1 << 10, 1 << 10})};
  bucket.last = true;
  return bucket;
}

struct Case {
  const char* name;
  std::function<BucketHookPtr(const Group&)> make;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

class Wire : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Hooks, Wire,
    ::testing::Values(Case{"AllReduce", [](const Group& g) { return all_reduce_hook(g); }},
                      Case{"Bfloat16", [](const Group& g) { return cast_hook(torch::kBFloat16, all_reduce_hook(g)); }},
                      Case{"Int8", [](const Group& g) { return int8_hook(g); }},
                      Case{"Sign", [](const Group& g) { return sign_hook(g); }},
                      Case{"Qsgd", [](const Group& g) { return qsgd_hook(g, 7, 1); }},
                      Case{"TopK", [](const Group& g) { return top_k_hook(g, 0.05); }},
                      Case{"Threshold", [](const Group& g) { return threshold_hook(g, 0.99); }},
                      Case{"AdaptiveThreshold", [](const Group& g) { return adaptive_threshold_hook(g, 0.05); }},
                      Case{"DeepGradient", [](const Group& g) { return deep_gradient_hook(g, {.fraction = 0.05}); }},
                      Case{"RandomK", [](const Group& g) { return random_k_hook(0.1, 7, all_reduce_hook(g)); }},
                      Case{"PowerSgd", [](const Group& g) { return power_sgd_hook(g, 32, 7); }}),
    [](const auto& test) { return test.param.name; });

TEST_P(Wire, CarriesWhatTheHookSays) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    on_tcp(ranks, [](World& world) {
      const auto hook = GetParam().make(world);
      const auto before = bytes_sent(world);
      hook->reduce(bucket_of(world), nullptr).wait();
      // A gather's ranks send on what they got: only in all do they send what each has to give.
      double totals[] = {static_cast<double>(bytes_sent(world) - before), hook->traffic().sent_bytes,
                         hook->traffic().dense_bytes};
      world.all_reduce(buffer_of(totals, 3)).wait();
      EXPECT_NEAR(totals[0], totals[1], 0.03 * totals[1]) << world.size() << " ranks";
      if (world.rank() == 0) {
        std::printf("%s on %d ranks: %.0f bytes on the wire, %.0f said, %.2f times fewer than dense\n", GetParam().name,
                    world.size(), totals[0], totals[1], totals[2] / totals[0]);
      }
      EXPECT_NE(hook->traffic().hook_seconds > 0, hook->exact());
    });
  }
}

}  // namespace
}  // namespace lockstep
