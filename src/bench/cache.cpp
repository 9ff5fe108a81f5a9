#include "bench/cache.h"

#include <fstream>
#include <string>

namespace lockstep::bench {

std::size_t last_level_cache_bytes(const std::filesystem::path& cpu) {
  constexpr std::size_t kUsual = std::size_t{32} << 20;
  std::size_t bytes = 0;
  int highest = 0;
  for (int index = 0;; ++index) {
    const std::filesystem::path folder = cpu / "cache" / ("index" + std::to_string(index));
    int level = 0;
    std::size_t size = 0;
    char unit = ' ';
    if (!(std::ifstream(folder / "level") >> level)) break;
    std::ifstream(folder / "size") >> size >> unit;
    if (level < highest) continue;
    highest = level;
    bytes = size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
  return bytes > 0 ? bytes : kUsual;
}

}  // namespace lockstep::bench
