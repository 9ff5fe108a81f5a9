#pragma once

#include "base/file_descriptor.h"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::testing_support {

/// A program under test: started by the constructor, killed by the destructor if it still runs. What it prints goes to
/// memory, so that it never waits for us and leaves no file.
class Command {
 public:
  struct Options {
    std::vector<std::string> environment;  ///< "NAME=value", added to ours
    std::string input;                     ///< its stdin
    bool ignore_interrupts = false;        ///< starts with SIGINT and SIGHUP ignored, as under nohup
  };
  explicit Command(const std::vector<std::string>& arguments) : Command(arguments, Options()) {}
  Command(const std::vector<std::string>& arguments, const Options& options);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Waits for its end: its exit code, or 1000 + the signal that ended it, or -1 after five minutes, which a
  /// training on a busy machine may well take.
  int wait();
  void send(int signal) const;
  /// Both streams so far.
  std::string output() const;
  std::string errors() const;

 private:
  FileDescriptor output_;
  FileDescriptor errors_;
  pid_t pid_ = -1;
};

/// What a program that has ended came to; `code` as Command::wait() has it.
struct Result {
  int code;
  std::string output;
  std::string errors;
};
Result run_command(const std::vector<std::string>& arguments, const Command::Options& options = {});

/// The Python that LOCKSTEP_PYTHON names, or python3.
std::string python();
/// Whether that can import these ("numpy, torch"); a test that needs them is skipped otherwise.
bool python_has(const std::string& modules);

/// Whether `condition` became true within five minutes.
bool eventually(const std::function<bool()>& condition);

/// Whether the process runs (a zombie does not).
bool is_alive(pid_t pid);

/// The numbers that follow each `word` in `text`, as in "pid 12".
std::vector<int> numbers_after(const std::string& word, const std::string& text);

}  // namespace lockstep::testing_support
