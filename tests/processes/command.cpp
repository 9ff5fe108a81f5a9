#include "tests/processes/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace lockstep::testing_support {

namespace {

FileDescriptor memory_file(const std::string& content = "") {
  FileDescriptor file(::memfd_create("lockstep-test", MFD_CLOEXEC));
  if (::pwrite(file.get(), content.data(), content.size(), 0) != std::ssize(content)) throw_system_error("pwrite");
  // Several processes may write at once (torchrun's ranks share its output); only appending keeps them apart in a
  // memfd.
  if (::fcntl(file.get(), F_SETFL, O_APPEND) != 0) throw_system_error("fcntl");
  return file;
}

std::string content_of(const FileDescriptor& file) {
  struct stat status {};
  ::fstat(file.get(), &status);
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  content.resize(static_cast<std::size_t>(::pread(file.get(), content.data(), content.size(), 0)));
  return content;
}

}  // namespace

Command::Command(const std::vector<std::string>& arguments, const Options& options)
    : output_(memory_file()), errors_(memory_file()) {
  const FileDescriptor input = memory_file(options.input);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const std::string& variable : options.environment) ::putenv(const_cast<char*>(variable.c_str()));
  if (options.ignore_interrupts) {
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
  }
  ::dup2(input.get(), STDIN_FILENO);
  ::dup2(output_.get(), STDOUT_FILENO);
  ::dup2(errors_.get(), STDERR_FILENO);
  ::execvp(argv[0], argv.data());
  ::_exit(99);
}

Command::~Command() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int Command::wait() {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) != 0; })) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void Command::send(int signal) const { ::kill(pid_, signal); }

std::string Command::output() const { return content_of(output_); }
std::string Command::errors() const { return content_of(errors_); }

Result run_command(const std::vector<std::string>& arguments, const Command::Options& options) {
  Command command(arguments, options);
  const int code = command.wait();
  return {code, command.output(), command.errors()};
}

std::string python() {
  const char* named = std::getenv("LOCKSTEP_PYTHON");
  return named == nullptr ? "python3" : named;
}

bool python_has(const std::string& modules) { return run_command({python(), "-c", "import " + modules}).code == 0; }

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  char state = 'X';
  file >> number >> name >> state;
  return file.good() && state != 'Z' && state != 'X';
}

std::vector<int> numbers_after(const std::string& word, const std::string& text) {
  std::vector<int> numbers;
  std::istringstream words(text);
  for (std::string current, previous; words >> current; previous = current) {
    if (previous == word) numbers.push_back(std::stoi(current));
  }
  return numbers;
}

}  // namespace lockstep::testing_support
