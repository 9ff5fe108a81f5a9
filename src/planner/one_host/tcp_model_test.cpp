#include "planner/one_host/tcp_model.h"

#include "algorithms/catalog.h"
#include "planner/one_host/tcp_model_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

constexpr int kCores = 2;

TcpModel truth() { return tcp_model_for_tests(4); }

std::vector<Sample> samples_of(const TcpModel& model, std::initializer_list<int> ranks, double first_bytes) {
  std::vector<Sample> all;
  for (const auto collective : {Collective::kAllReduce, Collective::kAllGather}) {
    for (const char* algorithm : {"naive", "direct", "ring", "recursive_doubling", "circulant", "tree"}) {
      if (!find_algorithm(algorithm).supports(collective)) continue;
      for (const int n : ranks) {
        const auto job =
            std::make_shared<HostJob>(find_algorithm(algorithm).build({.collective = collective, .ranks = n}));
        const TcpJob over_tcp(job->schedule);
        for (double bytes = first_bytes; bytes < 1e8; bytes *= 8) {
          all.push_back({.collective = collective,
                         .algorithm = algorithm,
                         .ranks = n,
                         .bytes = bytes,
                         .seconds = model.predict(over_tcp, bytes),
                         .job = job});
        }
      }
    }
  }
  return all;
}

}  // namespace

/// And of a number of ranks that it has not seen.
TEST(TcpModel, FindsTheCostsThatMadeTheSamples) {
  const TcpModel found = fit_tcp(samples_of(truth(), {2, 4}, 4), kCores);
  const PredictionError error = error_of(samples_of(truth(), {2, 3, 4}, 100), [&](const Sample& sample) {
    return found.predict(TcpJob(sample.job->schedule), sample.bytes);
  });
  EXPECT_LT(error.median, 0.01);
  EXPECT_LT(error.worst, 0.1);
}

TEST(TcpModel, IsItsWorkTimesItsPrices) {
  const TcpJob ring(find_algorithm("ring").build({.ranks = 4}));
  const TcpModel model = truth();
  const TcpCosts work = work_of(ring, 1024, kCores, model.seconds);
  EXPECT_DOUBLE_EQ(model.predict(ring, 1024), work * model.seconds);
  EXPECT_GT(model.predict(ring, 1024), 6 * model.seconds[TcpCost::kMessage]);
}

TEST(TcpModel, ThreeRanksOnTwoCoresTakeLongerThanOnThree) {
  const TcpJob ring(find_algorithm("ring").build({.ranks = 3}));
  TcpModel model = truth();
  const double on_two = model.predict(ring, 65536);
  model.cores = 3;
  EXPECT_GT(on_two, 1.3 * model.predict(ring, 65536));
}

TEST(TcpModel, KnowsTheRanksBetweenThoseMeasured) {
  EXPECT_FALSE(TcpModel().knows(2));
  const TcpModel found = fit_tcp(samples_of(truth(), {4, 2}, 4), kCores);
  EXPECT_FALSE(found.knows(1));
  EXPECT_TRUE(found.knows(2));
  EXPECT_TRUE(found.knows(3));
  EXPECT_TRUE(found.knows(4));
  EXPECT_FALSE(found.knows(5));
}

TEST(TcpModel, NeedsSamples) { EXPECT_THROW(fit_tcp({}, kCores), Error); }

}  // namespace lockstep
