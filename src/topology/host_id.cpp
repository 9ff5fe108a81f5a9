#include "topology/host_id.h"

#include "base/atomic_file.h"
#include "base/environment.h"

#include <lockstep/error.h>
#include <unistd.h>

#include <array>

namespace lockstep {

namespace {

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

std::string host_id() {
  if (const auto given = environment(kHostVariable)) return *given;
  try {
    return boot_id();
  } catch (const Error&) {
    return machine_name();  // no /proc
  }
}

}  // namespace lockstep
