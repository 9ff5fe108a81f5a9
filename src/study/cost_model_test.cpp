#include "study/cost_model.h"

#include "planner/calibration/calibrated_timing.h"
#include "planner/pricing/price.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep::study {

TEST(CostModel, OfALinkIsTheTextbooksForARing) {
  const double alpha = 20e-6, beta = 8e-9, n = 3 << 20;
  const CostModel model = model_of({{2, {alpha, beta}}, {4, {alpha, beta}}});
  for (const int p : {2, 4}) {
    const double formula = 2 * (p - 1) * alpha + 2.0 * (p - 1) / p * n * beta;
    EXPECT_NEAR(model({.algorithm = "ring", .ranks = p, .bytes = n}) / formula, 1, 0.01) << p;
  }
  EXPECT_NEAR(model({.algorithm = "ring", .collective = Collective::kAllGather, .ranks = 4, .bytes = n}),
              3 * alpha + 0.75 * n * beta, 0.01 * n * beta);
  EXPECT_EQ(model({.algorithm = "ring", .ranks = 1, .bytes = n}), 0);
  EXPECT_EQ(model({.algorithm = "ring", .ranks = 2, .bytes = 0}), 0);
}

TEST(CostModel, OfALinkHandsOnWhatHasCome) {
  const double beta = 8e-9, n = 10 << 20;
  const CostModel model = model_of({{4, {20e-6, beta}}});
  EXPECT_NEAR(model({.algorithm = "tree", .ranks = 4, .bytes = n}) / (2 * n * beta), 1.05, 0.05);
}

TEST(CostModel, RefusesWhatItDoesNotKnow) {
  const CostModel model = model_of({{2, {1e-6, 1e-9}}});
  EXPECT_THROW(model({.algorithm = "ring", .ranks = 3, .bytes = 8}), Error);
  EXPECT_THROW(model({.algorithm = "rind", .ranks = 2, .bytes = 8}), Error);
}

TEST(CostModel, OfACalibrationIsWhatThatPredicts) {
  Calibration calibration;
  calibration.machine.cores = 2;
  calibration.shm.seconds[0] = 1e-6;  // of an operation
  calibration.shm.seconds[4] = 1e-9;  // of a byte
  const CostModel model = model_of(calibration);
  const Schedule schedule = schedule_for("ring", {.collective = Collective::kAllReduce, .ranks = 2});
  EXPECT_DOUBLE_EQ(model({.algorithm = "ring", .ranks = 2, .bytes = 4096}),
                   CalibratedTiming(calibration, Medium::kSharedMemory, schedule).seconds({4096}));
  EXPECT_GT(model({.algorithm = "ring", .ranks = 2, .bytes = 1 << 20}),
            model({.algorithm = "ring", .ranks = 2, .bytes = 4096}));
}

TEST(CostModel, ARingsTimesGiveBackItsAlphaAndBeta) {
  const FlatCost cost{30e-6, 9e-9};
  for (const int p : {2, 3, 8}) {
    const auto time = [&](double n) {
      return CollectiveTime{"ring", n, 2 * (p - 1) * cost.alpha_s + 2.0 * (p - 1) / p * n * cost.beta_s};
    };
    const FlatCost fitted = fit_ring(p, time(64), time(1 << 20));
    EXPECT_NEAR(fitted.alpha_s, cost.alpha_s, 1e-12);
    EXPECT_NEAR(fitted.beta_s, cost.beta_s, 1e-15);
  }
  const FlatCost odd = fit_ring(2, {"ring", 64, 1e-3}, {"ring", 1 << 20, 0.5e-3});
  EXPECT_EQ(odd.beta_s, 0) << "noise makes no negative cost";
}

}  // namespace lockstep::study
