#include "report/lab_page.h"

#include "base/atomic_file.h"
#include "report/page/fill_page.h"
#include "report/page/page.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

// By x, since the page looks points up in that order; what is no number has no place in a picture.
Json json_of(std::vector<LabPoint> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const LabPoint& a, const LabPoint& b) { return a.first < b.first; });
  Json json = Json::array();
  for (const auto& [x, y] : points) {
    if (std::isfinite(x) && std::isfinite(y)) json.push_back(Json::array({x, y}));
  }
  return json;
}

Json json_of(const LabChart& chart) {
  Json curves = Json::array();
  for (const LabCurve& curve : chart.curves) {
    curves.push_back(
        {{"name", curve.name}, {"measured", json_of(curve.measured)}, {"predicted", json_of(curve.predicted)}});
  }
  return {{"title", chart.title},     {"words", chart.words},         {"x_label", chart.x.label},
          {"y_label", chart.y.label}, {"log_x", chart.x.logarithmic}, {"log_y", chart.y.logarithmic},
          {"x_bytes", chart.x.bytes}, {"y_bytes", chart.y.bytes},     {"curves", curves}};
}

Json json_of(const LabBars& bars) {
  Json rows = Json::array();
  for (const MemoryRecord& row : bars.rows) {
    rows.push_back({{"kind", row.kind}, {"predicted", row.predicted_bytes}, {"measured", row.measured_bytes}});
  }
  return {{"title", bars.title}, {"rows", rows}};
}

Json json_of(const LabTable& table) {
  for (const auto& row : table.rows) {
    if (row.size() == table.columns.size()) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("A row of the table \"{}\" has {} cells, but the table has {} columns: give each row one "
                            "cell a column.",
                            table.title, row.size(), table.columns.size()));
  }
  return {{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}};
}

template <class Part>
Json list(const std::vector<Part>& parts) {
  Json json = Json::array();
  for (const Part& part : parts) json.push_back(json_of(part));
  return json;
}

}  // namespace

void write_lab_page(const LabPage& page, const std::filesystem::path& path) {
  const Json data{{"title", page.title},         {"command", page.command}, {"paragraphs", page.paragraphs},
                  {"charts", list(page.charts)}, {"bars", list(page.bars)}, {"tables", list(page.tables)}};
  write_file_atomically(path, fill_page(kLabPage, page.title, data));
}

}  // namespace lockstep
