#include "train/checkpoint/checksum.h"

#include <fmt/format.h>
#include <zlib.h>

namespace lockstep {

std::string checksum(std::string_view bytes) {
  return fmt::format("{:08x}", ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace lockstep
