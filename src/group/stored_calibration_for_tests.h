#pragma once

#include "planner/calibration/calibration.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace lockstep {

/// A calibration in a cache of its own, which goes with it.
class StoredCalibration {
 public:
  explicit StoredCalibration(double seconds_a_byte, TcpModel tcp = {})
      : folder_(::testing::TempDir() + "stored_calibration_" + std::to_string(::getpid())) {
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    Calibration calibration{.machine = this_machine(), .memory_bytes_per_second = 1e10};
    calibration.shm.seconds[0] = 1e-5;
    calibration.shm.seconds[4] = seconds_a_byte;
    calibration.tcp.model = std::move(tcp);
    std::filesystem::create_directories(calibration_file()->parent_path());
    std::ofstream(*calibration_file()) << to_json(calibration);
  }
  ~StoredCalibration() {
    ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  StoredCalibration(const StoredCalibration&) = delete;
  StoredCalibration& operator=(const StoredCalibration&) = delete;

 private:
  std::string folder_;
};

}  // namespace lockstep
