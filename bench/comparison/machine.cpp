#include "bench/comparison/machine.h"

#include "base/units.h"
#include "topology/caches.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>

namespace lockstep::compare {

namespace {

/// What stands behind `key` and a separator in a file of lines; quotes are taken off.
std::string value_in(const char* file, const std::string& key, char separator) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::string value = line.substr(line.find(separator) + 1);
    value.erase(0, value.find_first_not_of(" \""));
    value.erase(value.find_last_not_of(" \"") + 1);
    return value;
  }
  return "unknown";
}

/// As the hypervisor says of itself.
bool is_virtual() {
  const std::string flags = " " + value_in("/proc/cpuinfo", "flags", ':') + " ";
  return flags.find(" hypervisor ") != std::string::npos;
}

std::string package_version(const std::string& package) {
  const std::string command = "dpkg-query --show --showformat='${Version}' " + package + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 128> text{};
  if (!pipe || std::fgets(text.data(), static_cast<int>(text.size()), pipe.get()) == nullptr) return "unknown";
  return text.data();
}

}  // namespace

std::string describe_machine() {
  utsname system{};
  ::uname(&system);
  const CpuCount cpus = available_cpus();
  return fmt::format(
      "Measured on {} cores of: {} (family {}, model {}), last-level cache {}; {}, Linux {}; Open MPI {}, Gloo {} "
      "(Debian's packages).{}",
      cpus.cores, value_in("/proc/cpuinfo", "model name", ':'), value_in("/proc/cpuinfo", "cpu family", ':'),
      value_in("/proc/cpuinfo", "model\t", ':'), format_bytes(last_level_cache_bytes()),
      value_in("/etc/os-release", "PRETTY_NAME", '='), system.release, package_version("openmpi-bin"),
      package_version("libgloo0"), is_virtual() ? " The machine is a virtual one, whose host others may share." : "");
}

}  // namespace lockstep::compare
