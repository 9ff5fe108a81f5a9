#pragma once

#include "planner/one_host/host_model.h"
#include "planner/one_host/tcp_model.h"
#include "planner/selection/selection.h"
#include "topology/network.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// How well measurements were predicted that were held back: of other sizes than those that a prediction was made from,
/// and of numbers of ranks of which nothing was. Zeros where there were none.
struct HeldBack {
  PredictionError sizes;
  PredictionError ranks;
};
/// "sizes with a median error of 3 %, at worst 30 %; numbers of ranks with 9 %, at worst 48 %".
std::string to_text(const HeldBack& held_back);

/// `lockstep calibrate` measures no more.
inline constexpr int kMostCalibratedRanks = 64;

/// What was measured on a machine, and what follows from it.
struct Calibration {
  Machine machine;
  HostModel shm;                       ///< ranks that share the host's memory
  FlatCost link;                       ///< between two of them, as a textbook has it; no prediction goes by it
  double memory_bytes_per_second = 0;  ///< that all cores together copy, read and written counted
  HeldBack held_back;
  std::vector<Sample> samples;          ///< everything measured; without their jobs when read from a file
  std::map<int, Selection> selections;  ///< by ranks: of each collective what is predicted to be the fastest

  /// Ranks of this host that talk over TCP.
  struct Tcp {
    TcpModel model;
    FlatCost link;  ///< as above
    HeldBack held_back;
    std::vector<Sample> samples;  ///< none: not measured
  };
  Tcp tcp;
};

/// $XDG_CACHE_HOME/lockstep/calibration.json, where XDG_CACHE_HOME is unset ~/.cache; none where neither is known.
std::optional<std::filesystem::path> calibration_file();

/// The JSON form; parse_calibration() gives the same model back. docs/guide/cost.md lists its keys.
std::string to_json(const Calibration& calibration);
/// Throws Error (kRefused) with `source_name` and what is wrong: measure again with `lockstep calibrate`.
Calibration parse_calibration(std::string_view json, const std::string& source_name);

/// What is stored, of whichever machine; none if nothing is. Throws as parse, also where something else than a file is
/// in its place.
std::optional<Calibration> stored_calibration();
/// The same, if it was measured on this machine.
std::optional<Calibration> stored_calibration(const Machine& machine);

/// Of more ranks, to price all algorithms at all sizes would take many seconds.
inline constexpr int kMostSelectedRanks = 16;

/// Whether one is stored for so many ranks or fewer, and they are no more than kMostSelectedRanks.
bool has_selection(const Calibration& calibration, int ranks);
/// The selection that is stored for so many ranks or the next fewer; what is built in where there is none, and for more
/// than kMostSelectedRanks.
Selection stored_selection(const Calibration& calibration, int ranks);

}  // namespace lockstep
