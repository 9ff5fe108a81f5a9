#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::study {

/// What a person asked a study for.
struct StudyOptions {
  std::string command;                  ///< as typed, for the page
  std::string training = "text";        ///< as `lockstep train` calls it
  std::vector<std::string> flags;       ///< of it
  int ranks = 2;                        ///< of a sweep over ranks: the most
  int iterations = 12;                  ///< of a training that count
  int rounds = 3;                       ///< how often each point is measured, all points in turn
  double bytes_per_second = 0;          ///< of the cards of the shaped link; 0: none
  std::vector<std::uint64_t> sizes;     ///< that are swept
  std::vector<std::string> algorithms;  ///< that are swept
  std::filesystem::path page;           ///< where the page goes
};

}  // namespace lockstep::study
