#pragma once

#include "base/file_descriptor.h"

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace lockstep {

/// 256 random bits that the ranks of a job share and nobody else has. They travel by an inherited descriptor or a file
/// that only its owner can read: never on a command line or in an environment variable, which others may list.
class Secret {
 public:
  static constexpr std::size_t kBytes = 32;

  /// A new one, from the system. Throws Error (kTransport).
  static Secret make();
  /// What LOCKSTEP_SECRET_FD (a descriptor, set by our launcher) or LOCKSTEP_SECRET_FILE (a file with 64 hexadecimal
  /// digits that nobody but this user can read) names; none if neither is set. Throws Error (kInvalidArgument).
  static std::optional<Secret> find(const std::function<std::optional<std::string>(const char* name)>& lookup);

  /// A sealed file in memory that programs started from here inherit; `find` reads it there.
  FileDescriptor inheritable() const;

  const std::array<unsigned char, kBytes>& bytes() const { return bytes_; }

 private:
  static Secret from_descriptor(const std::string& number);
  static Secret from_file(const std::string& path);

  std::array<unsigned char, kBytes> bytes_{};
};

}  // namespace lockstep
