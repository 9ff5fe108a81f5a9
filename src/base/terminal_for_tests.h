#pragma once

#include "base/file_descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace lockstep::testing_support {

/// A terminal of so many columns, and whoever sits at it.
class Terminal {
 public:
  explicit Terminal(int columns) : person_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    const winsize size{.ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    std::array<char, 64> name{};
    if (!person_ || ::grantpt(person_.get()) != 0 || ::unlockpt(person_.get()) != 0 ||
        ::ioctl(person_.get(), TIOCSWINSZ, &size) != 0 || ::ptsname_r(person_.get(), name.data(), name.size()) != 0) {
      throw_system_error("Making a terminal");
    }
    path_ = name.data();
    program_ = FileDescriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  }

  /// Where programs find it.
  const std::string& path() const { return path_; }

  /// What is printed on it up to `end`, or up to a minute in which nothing is.
  std::string read_to(std::string_view end) const {
    constexpr int kPatienceMs = 60'000;
    std::string text;
    while (!text.ends_with(end)) {
      pollfd readable{.fd = person_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&readable, 1, kPatienceMs) <= 0) break;
      std::array<char, 4096> bytes{};
      const ssize_t count = ::read(person_.get(), bytes.data(), bytes.size());
      if (count <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  FileDescriptor person_;
  FileDescriptor program_;  ///< kept open: else what is printed ends with the first program
  std::string path_;
};

}  // namespace lockstep::testing_support
