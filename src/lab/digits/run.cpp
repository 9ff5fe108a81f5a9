#include "lab/digits/run.h"

#include "lab/classifier/run.h"
#include "lab/digits/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::lab {

void run_digits(const World& world, const std::vector<std::string>& arguments) {
  run_classifier(world, fmt::format("lockstep-train digits {}", fmt::join(arguments, " ")),
                 [&] { return std::make_unique<DigitsTask>(parse_digits(arguments)); });
}

}  // namespace lockstep::lab
