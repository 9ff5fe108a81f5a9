#include "base/file_descriptor.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockstep {

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool lacks_means(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

void throw_system_error(std::string_view what) {
  const int error = errno;
  throw Error(ErrorCode::kTransport, fmt::format("{} failed: {}.", what, std::generic_category().message(error)));
}

}  // namespace lockstep
