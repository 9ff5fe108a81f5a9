#include "planner/tcp_model.h"

#include "algorithms/catalog.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

constexpr int kCores = 1;

const TcpModel kTruthOverTcp{
    .alpha = {{2, {.step_s = 3e-6, .message_s = 1e-7}}, {4, {.step_s = 5e-6, .message_s = 7e-7}}},
    .beta_s = {1.5e-10, 1.2e-10, 1.4e-10, 3e-10},
    .gamma_s = 5e-11};

std::shared_ptr<const HostJob> job_of(const char* algorithm, int ranks, Collective collective) {
  return std::make_shared<HostJob>(find_algorithm(algorithm).build({.collective = collective, .ranks = ranks}));
}

std::vector<Sample> samples_over_tcp(std::initializer_list<int> ranks, double first_bytes) {
  std::vector<Sample> all;
  for (const auto collective : {Collective::kAllReduce, Collective::kAllGather}) {
    for (const char* algorithm : {"naive", "direct", "ring", "recursive_doubling", "circulant"}) {
      if (!find_algorithm(algorithm).supports(collective)) continue;
      for (const int n : ranks) {
        const auto job = job_of(algorithm, n, collective);
        for (double bytes = first_bytes; bytes < 1e8; bytes *= 8) {
          const double seconds = kTruthOverTcp.predict(job->schedule, bytes);
          all.push_back({.collective = collective,
                         .algorithm = algorithm,
                         .ranks = n,
                         .bytes = bytes,
                         .seconds = seconds,
                         .job = job});
        }
      }
    }
  }
  return all;
}

PredictionError error_of_tcp(const TcpModel& model, const std::vector<Sample>& samples) {
  return error_of(samples, [&](const Sample& sample) { return model.predict(sample.job->schedule, sample.bytes); });
}

}  // namespace

/// Of ranks between those that were measured too.
TEST(TcpModel, FindsTheCostsThatMadeTheSamples) {
  const TcpModel found = fit_tcp(samples_over_tcp({2, 4}, 4), kCores);
  const PredictionError error = error_of_tcp(found, samples_over_tcp({2, 3, 4}, 100));
  EXPECT_LT(error.median, 0.01);
  EXPECT_LT(error.worst, 0.1);
}

/// The formula, by hand: a ring of 4 has 6 steps of 4 messages, and moves 6 times the buffer, 3 times it reduced.
TEST(TcpModel, IsASumOfWhatTheScheduleHas) {
  const TcpModel model{.alpha = {{4, {.step_s = 10, .message_s = 1}}}, .beta_s = {2, 2, 2, 4}, .gamma_s = 3};
  const Schedule ring = find_algorithm("ring").build({.ranks = 4});
  EXPECT_DOUBLE_EQ(model.predict(ring, 1024), 60 + 24 + 1024 * (6 * 2 + 3 * 3));
  EXPECT_DOUBLE_EQ(model.predict(ring, 1 << 26), 60 + 24 + (1 << 26) * (6.0 * 4 + 3 * 3));
  EXPECT_DOUBLE_EQ(model.predict(ring, 1 << 24), 60 + 24 + (1 << 24) * (6.0 * 3 + 3 * 3)) << "halfway, in logarithms";
  EXPECT_DOUBLE_EQ(model.predict(ring, double{1 << 30}), 60 + 24 + (1 << 30) * (6.0 * 4 + 3 * 3));
}

/// Of a ring of 3 ranks each sends and receives 4 messages of a third: 2 ranks are two thirds of the work.
TEST(TcpModel, CountsTheBusiestCore) {
  TcpModel model{.alpha = {{3, {.message_s = 1}}}, .gamma_s = 1, .cores = 1};
  const Schedule ring = find_algorithm("ring").build({.ranks = 3});
  EXPECT_NEAR(model.predict(ring, 3072), 12 + 2 * 3072, 1e-9);
  model.cores = 2;
  EXPECT_NEAR(model.predict(ring, 3072), 2.0 / 3 * (12 + 2 * 3072), 1e-9);
  model.cores = 8;
  EXPECT_NEAR(model.predict(ring, 3072), 1.0 / 3 * (12 + 2 * 3072), 1e-9) << "a rank has no more than one";
}

TEST(TcpModel, AMessageCostsAsOnCoresWithAsManyRanks) {
  TcpModel model{.alpha = {{2, {.step_s = 1}}, {4, {.step_s = 3}}}, .cores = 2};
  const Schedule star = find_algorithm("star").build({.ranks = 3});
  const auto steps = static_cast<double>(star.steps.size());
  EXPECT_DOUBLE_EQ(model.predict(star, 0), 3 * steps) << "two ranks on a core, as of 4";
  model.cores = 3;
  EXPECT_DOUBLE_EQ(model.predict(star, 0), 1 * steps) << "one on each, as of 2";
  for (const int cores : {1, 4}) {
    model.cores = cores;
    EXPECT_DOUBLE_EQ(model.predict(star, 0), 2 * steps) << "neither more than the other";
  }
}

TEST(TcpModel, KnowsTheRanksBetweenThoseMeasured) {
  EXPECT_FALSE(TcpModel().knows(2));
  EXPECT_TRUE(kTruthOverTcp.knows(2));
  EXPECT_TRUE(kTruthOverTcp.knows(3));
  EXPECT_TRUE(kTruthOverTcp.knows(4));
  EXPECT_FALSE(kTruthOverTcp.knows(5));
}

TEST(TcpModel, NeedsSamples) { EXPECT_THROW(fit_tcp({}, kCores), Error); }

}  // namespace lockstep
