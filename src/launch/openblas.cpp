#include "launch/openblas.h"

#include "base/file_descriptor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace lockstep {

namespace {

bool has_all(std::string_view flags, std::initializer_list<std::string_view> wanted) {
  const std::string spaced = fmt::format(" {} ", flags);
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view flag) {
    return spaced.find(fmt::format(" {} ", flag)) != std::string::npos;
  });
}

/// In the process that only asks.
[[noreturn]] void tell_choice(int answer) {
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* const library = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
  void* const symbol = library == nullptr ? nullptr : ::dlsym(library, "openblas_get_corename");
  if (symbol != nullptr) {
    const char* const name = reinterpret_cast<char* (*)()>(symbol)();
    if (::write(answer, name, std::strlen(name)) < 0) ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

std::string openblas_core_type(std::string_view chosen, std::string_view flags) {
  if (chosen != "Prescott") return "";
  if (has_all(flags, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "SkylakeX";
  if (has_all(flags, {"avx2", "fma"})) return "Haswell";
  return "";
}

std::string openblas_choice() {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_system_error("Making a pipe to ask OpenBLAS");
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw_system_error("Starting a process to ask OpenBLAS");
  if (child == 0) tell_choice(write_end.get());
  write_end.reset();
  std::string name;
  std::array<char, 64> part;
  for (;;) {
    const ssize_t got = ::read(read_end.get(), part.data(), part.size());
    if (got > 0) name.append(part.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return name;
}

std::string processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return line.substr(std::min(line.size(), line.find(':') + 1));
  }
  return "";
}

}  // namespace lockstep
