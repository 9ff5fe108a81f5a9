// libFuzzer's way in: ./check --fuzz runs it for half a minute.
#include "fuzz/safetensors_target.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::fuzz::read_and_write_header({reinterpret_cast<const char*>(data), size});
  return 0;
}
