#include "base/map_pages.h"

#include <sys/mman.h>

#include <algorithm>

namespace lockstep {

std::shared_ptr<void> map_pages(std::size_t bytes) {
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  void* const data = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  return {data, [mapped](void* memory) { ::munmap(memory, mapped); }};
}

}  // namespace lockstep
