#pragma once

#include "report/lab_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace lockstep::study {

inline const LabChart& chart_named(const LabPage& page, const std::string& title) {
  const auto found =
      std::find_if(page.charts.begin(), page.charts.end(), [&](const LabChart& one) { return one.title == title; });
  if (found != page.charts.end()) return *found;
  ADD_FAILURE() << "there is no chart \"" << title << '"';
  static const LabChart kNone;
  return kNone;
}

inline std::string text_of(const LabPage& page) {
  std::string text;
  for (const std::string& paragraph : page.paragraphs) text += paragraph + "\n";
  return text;
}

}  // namespace lockstep::study
