#pragma once

#include <string>
#include <vector>

namespace lockstep::testing_support {

/// Runs the shell `script`, with `command` as its "$@", where a file system of `size` (as mount's size=, e.g. 4m) is
/// mounted at `folder`: in a mount namespace of its own, so that nothing stays mounted. Exits kNoSmallDisk where none
/// can be mounted.
inline std::vector<std::string> on_a_small_disk(const std::string& folder, const std::string& size,
                                                const std::string& script, const std::vector<std::string>& command) {
  // An `unshare` that fails exits as a command does that fails, so it is tried first.
  const std::string mounted = "mount -t tmpfs -o size=" + size + " none " + folder + " || exit 77; " + script;
  std::vector<std::string> all = {"sh",
                                  "-c",
                                  "unshare --map-root-user --mount true || exit 77; "
                                  "exec unshare --map-root-user --mount sh -c \"$@\"",
                                  "sh",
                                  mounted,
                                  "sh"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}
inline constexpr int kNoSmallDisk = 77;
inline constexpr const char* kWhyNoSmallDisk = "no file system can be mounted here, so no full disk";

}  // namespace lockstep::testing_support
