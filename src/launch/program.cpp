#include "launch/program.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/refuse.h"

namespace lockstep {

namespace {

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_program(const std::string& path) { return is_file(path) && ::access(path.c_str(), X_OK) == 0; }

std::string check_path(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    refuse(fmt::format("Cannot run {}: {}.", path, std::generic_category().message(errno)));
  }
  if (S_ISDIR(status.st_mode)) refuse(fmt::format("Cannot run {}: it is a folder, not a program.", path));
  if (::access(path.c_str(), X_OK) != 0) {
    refuse(
        fmt::format("Cannot run {}: it is not executable; if it is a program, chmod +x {} makes it so.", path, path));
  }
  return path;
}

}  // namespace

std::optional<std::string> find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string this_program() {
  constexpr const char* kLink = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(kLink, error);
  if (!error) return path.string();
  throw Error(ErrorCode::kUnsupported,
              fmt::format("Which program this is, to start it again, is not to be seen: reading {} failed: {}. Mount "
                          "/proc, as in: mount -t proc proc /proc",
                          kLink, error.message()));
}

std::string find_program(const std::string& name) {
  if (name.empty()) refuse("The name of the program to run is empty.");
  if (name.find('/') != std::string::npos) return check_path(name);
  if (const auto found = find_in_path(name)) return *found;
  if (is_file("./" + name)) {
    refuse(fmt::format("There is no program '{}' in PATH; for the file here, say ./{}.", name, name));
  }
  refuse(fmt::format("There is no program '{}' in PATH; check its name, or give its path.", name));
}

std::string explain_exec_failure(const std::string& path, int error) {
  switch (error) {
    case ENOEXEC:
      return fmt::format(
          "Cannot run {}: it is neither a program for this kind of machine nor a script that starts with #! "
          "(such as #!/bin/sh).",
          path);
    case ENOENT:
      return fmt::format(
          "Cannot run {}: the interpreter in its #! line, or the loader it was linked for, is not there.", path);
    case E2BIG: return fmt::format("Cannot run {}: the arguments and the environment are too long.", path);
    default: return fmt::format("Cannot run {}: {}.", path, std::generic_category().message(error));
  }
}

}  // namespace lockstep
