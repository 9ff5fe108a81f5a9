#include "topology/caches.h"

#include <fstream>
#include <map>
#include <string>

namespace lockstep {

namespace {

/// Of data, by level.
std::map<int, std::size_t> levels_of(const std::filesystem::path& cpu) {
  std::map<int, std::size_t> caches;
  for (int index = 0;; ++index) {
    const std::filesystem::path folder = cpu / "cache" / ("index" + std::to_string(index));
    int level = 0;
    if (!(std::ifstream(folder / "level") >> level)) return caches;
    std::string type;
    std::ifstream(folder / "type") >> type;
    if (type == "Instruction") continue;
    std::size_t size = 0;
    char unit = ' ';
    std::ifstream(folder / "size") >> size >> unit;  // "2048K"
    caches[level] = size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
}

}  // namespace

std::size_t cache_bytes(int level, const std::filesystem::path& cpu) {
  const std::map<int, std::size_t> caches = levels_of(cpu);
  const auto found = caches.find(level);
  return found == caches.end() ? 0 : found->second;
}

std::size_t last_level_cache_bytes(const std::filesystem::path& cpu) {
  constexpr std::size_t kUsual = std::size_t{32} << 20;
  const std::map<int, std::size_t> caches = levels_of(cpu);
  return caches.empty() || caches.rbegin()->second == 0 ? kUsual : caches.rbegin()->second;
}

}  // namespace lockstep
