#pragma once

#include "base/scratch_folder.h"
#include "planner/calibration/calibration.h"
#include "study/children.h"
#include "study/records.h"
#include "study/shaped_network.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::study {

/// Where this project's programs are.
struct Programs {
  std::string lockstep;
  std::string training;  ///< lockstep-train
};

struct TrainingPlan {
  std::string training = "text";   ///< as `lockstep train` calls it
  std::vector<std::string> flags;  ///< of it
  int ranks = 1;
  int iterations = 12;  ///< that count
};

struct CollectivePlan {
  std::string algorithm;
  int ranks = 2;
  std::vector<std::uint64_t> sizes;  ///< bytes, ascending
  std::string min_time = "100ms";    ///< for each, as `lockstep bench` takes it
};

/// Runs trainings and collectives as processes of their own and reads what they recorded. What it needs on disk lies in
/// a folder that goes with it. All throw Interrupted, and Error as Children::output_of.
class Workbench {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// `say` is told what is going on, for people who wait.
  Workbench(Programs programs, Say say) : programs_(std::move(programs)), say_(std::move(say)) {}

  void say(const std::string& line) const { say_(line); }
  Children& children() { return children_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  /// `network`: over TCP, each rank with a card of its own; null: ranks share memory.
  TrainingRun train(const TrainingPlan& plan, const ShapedNetwork* network = nullptr);
  /// Has the training read its input and do nothing else.
  void check(const TrainingPlan& plan);
  /// All-reduces of float32. Of each size, in order.
  std::vector<CollectiveTime> measure(const CollectivePlan& plan, const ShapedNetwork* network = nullptr);

  /// What is stored for this machine; where nothing is, measured now for up to so many ranks, briefly, and not stored.
  struct HostCalibration {
    Calibration calibration;
    std::string source;  ///< in words
  };
  HostCalibration host_calibration(int ranks);

  /// A text file to train on: words without meaning, since what a training costs does not depend on them.
  std::filesystem::path sample_text() const;

 private:
  /// With further flags of the training.
  ChildPlan training(const TrainingPlan& plan, const std::vector<std::string>& more,
                     const ShapedNetwork* network) const;
  ChildPlan job(int ranks, const std::vector<std::string>& program, const ShapedNetwork* network) const;

  Programs programs_;
  Say say_;
  Children children_;
  ScratchFolder folder_;
};

}  // namespace lockstep::study
