#pragma once

#include "report/record.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// x, y.
using LabPoint = std::pair<double, double>;

/// One thing that was measured, and what the model says of it, in one colour.
struct LabCurve {
  std::string name;                      ///< "ring, 4 ranks"
  std::vector<LabPoint> measured;        ///< drawn as points; joined by a thin line where nothing was predicted
  std::vector<LabPoint> predicted = {};  ///< drawn as a line, in the order of x
};

struct LabAxis {
  std::string label;
  bool logarithmic = false;  ///< points that are not above 0 are left out
  bool bytes = false;        ///< values are bytes: shown as 64 KiB
};

struct LabChart {
  std::string title;
  LabAxis x, y;
  std::vector<LabCurve> curves;
  std::string words = {};  ///< what is seen in it, below it
};

/// Memory (or anything else in bytes) as bars, measured beside predicted.
struct LabBars {
  std::string title;
  std::vector<MemoryRecord> rows;
};

struct LabTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< as many cells as columns; numbers are set to the right
};

/// The page of an experiment, shown in this order.
struct LabPage {
  std::string title;
  std::string command;                  ///< as typed; empty for none
  std::vector<std::string> paragraphs;  ///< what was done and what is seen
  std::vector<LabChart> charts;
  std::vector<LabBars> bars = {};
  std::vector<LabTable> tables = {};
};

/// One self-contained HTML file (no network), in the look of the report. Written atomically. Throws Error (kIo); a row
/// of a table with another number of cells than columns is Error (kInvalidArgument).
void write_lab_page(const LabPage& page, const std::filesystem::path& path);

}  // namespace lockstep
