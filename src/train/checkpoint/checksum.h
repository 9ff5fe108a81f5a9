#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// CRC-32 (ISO 3309, as in zip and PNG) of these bytes, as eight hexadecimal digits.
std::string checksum(std::string_view bytes);

}  // namespace lockstep
