#include "transport/mpi/library.h"

#include "base/environment.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <lockstep/error.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace lockstep::mpi {

namespace {

constexpr const char* kName = "liblockstep-mpi.so";

std::vector<std::string> places() {
  if (const auto given = environment(kMpiLibraryVariable)) return {*given};
  std::vector<std::string> found;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    found.push_back(program.parent_path() / kName);
    found.push_back((program.parent_path() / LOCKSTEP_LIBRARIES_FROM_PROGRAMS / kName).lexically_normal());
  }
  found.emplace_back(kName);  // where the system looks
  return found;
}

struct Opened {
  const Calls* calls = nullptr;
  std::string why;  ///< there are none
};

Opened open() {
  std::string why;
  for (const std::string& place : places()) {
    // Open MPI's own parts want to find it among all.
    void* const handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      why += fmt::format("{}{}", why.empty() ? "" : "; ", ::dlerror());
      continue;
    }
    using Entry = const Calls* (*)();
    if (const auto entry = reinterpret_cast<Entry>(::dlsym(handle, kCallsSymbol))) return {entry(), ""};
    why += fmt::format("{}{}: of another version of Lockstep", why.empty() ? "" : "; ", place);
  }
  return {nullptr, why};
}

}  // namespace

const Calls& library() {
  static const Opened kOpened = open();
  if (kOpened.calls != nullptr) return *kOpened.calls;
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("The transport mpi needs {}, which is built where CMake finds MPI (Debian: libopenmpi-dev); set "
                  "{} to where it is, or take tcp{}.",
                  kName, kMpiLibraryVariable, kOpened.why.empty() ? "" : " (" + kOpened.why + ")"));
}

}  // namespace lockstep::mpi
