#include "cli/job_environment.h"

#include "algorithms/catalog.h"
#include "base/environment.h"
#include "base/nearest.h"
#include "base/refuse.h"
#include "topology/cpu_quota.h"
#include "transport/transports.h"

#include <fmt/format.h>
#include <lockstep/world.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cli {

void check_job_environment() {
  (void)World::alone();  // reads what every group does: its timeout, its kind of reduction, its algorithms by size
  (void)job_cpus();
  (void)environment_duration(kJoinTimeoutVariable, std::chrono::seconds(60));
  const std::string algorithm = environment(kAlgorithmVariable).value_or("auto");
  if (algorithm != "auto" && algorithm != kVendor) (void)find_algorithm(algorithm, kAlgorithmVariable);
  const std::string transport = environment(kTransportVariable).value_or("auto");
  std::vector<std::string_view> names{"auto"};
  for (const NamedTransport& one : named_transports()) names.emplace_back(one.name);
  if (std::find(names.begin(), names.end(), transport) != names.end()) return;
  refuse(fmt::format("{} is '{}'. {}", kTransportVariable, transport, suggestion(transport, names)));
}

}  // namespace lockstep::cli
