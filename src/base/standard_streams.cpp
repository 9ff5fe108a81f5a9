#include "base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace lockstep {

void ensure_standard_descriptors() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDONLY);  // taking what is written, it would be a lie
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) ::close(descriptor);
}

void say_error(std::string_view text) noexcept {
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace lockstep
