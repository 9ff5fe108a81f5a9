// libFuzzer's way in: ./check --fuzz runs it for a minute.
#include "fuzz/schedule_target.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::fuzz::read_prove_and_draw({reinterpret_cast<const char*>(data), size});
  return 0;
}
