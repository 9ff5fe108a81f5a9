#pragma once

#include "report/lab_page.h"

#include <string>
#include <utility>
#include <vector>

namespace lockstep::study {

/// A chart of these curves, with what is seen in it.
inline LabChart chart_of(std::string title, std::pair<LabAxis, LabAxis> axes, std::vector<LabCurve> curves,
                         std::string words) {
  LabChart chart;
  chart.title = std::move(title);
  chart.x = std::move(axes.first);
  chart.y = std::move(axes.second);
  chart.curves = std::move(curves);
  chart.words = std::move(words);
  return chart;
}

}  // namespace lockstep::study
