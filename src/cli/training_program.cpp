#include "cli/training_program.h"

#include "base/nearest.h"
#include "launch/program.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace lockstep::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "lockstep-train";

}  // namespace

void check_training(const std::string& name) {
  if (std::find(kTrainings.begin(), kTrainings.end(), name) != kTrainings.end()) return;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("There is no training '{}'. {}", name,
                                                       suggestion(name, {kTrainings.begin(), kTrainings.end()})));
}

std::string find_training_program() {
  const fs::path folder = fs::path(this_program()).parent_path();
  for (const fs::path& candidate : {folder / kProgram, folder / ".." / "libexec" / "lockstep" / kProgram}) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.lexically_normal().string();
  }
  if (const auto found = find_in_path(kProgram)) return *found;
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("The trainings are not in this build: there is no {} beside lockstep in {}, since it was built "
                  "without libtorch. Install libtorch and build again (LOCKSTEP_TRAIN=ON).",
                  kProgram, folder.string()));
}

}  // namespace lockstep::cli
