#include "lab/sst2/run.h"

#include "lab/classifier/run.h"
#include "lab/sst2/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::lab {

void run_sst2(const World& world, const std::vector<std::string>& arguments) {
  run_classifier(world, fmt::format("lockstep-train sst2 {}", fmt::join(arguments, " ")),
                 [&] { return std::make_unique<Sst2Task>(parse_sst2(arguments)); });
}

}  // namespace lockstep::lab
