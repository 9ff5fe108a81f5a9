#include "launch/process.h"

#include "launch/program.h"

#include <fcntl.h>
#include <lockstep/error.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace lockstep {

namespace {

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("Making a pipe for a rank");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

/// The kernel's form of a CpuSet, of any size (cpu_set_t ends at 1024).
std::vector<unsigned long> mask_of(const CpuSet& cpus) {
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask;
  for (const int cpu : cpus) {
    const std::size_t word = static_cast<std::size_t>(cpu) / kBits;
    if (word >= mask.size()) mask.resize(word + 1);
    mask[word] |= 1UL << (static_cast<std::size_t>(cpu) % kBits);
  }
  return mask;
}

/// All that the child needs, ready before fork: after it, only async-signal-safe calls are allowed.
struct Child {
  const char* path;
  char* const* arguments;
  char* const* environment;
  const std::vector<unsigned long>& cpu_mask;
  const sigset_t& signal_mask;
  int input;   ///< -1: /dev/null
  int output;  ///< -1: inherited
  int errors;
  int report;  ///< takes errno if exec fails; closed by exec if not
  pid_t parent;
};

[[noreturn]] void become(const Child& child) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(1);  // it died before the line above
  if (child.input < 0) {
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::close(null);
  }
  if (child.output >= 0) {
    ::dup2(child.output, STDOUT_FILENO);
  } else {
    // We are in a background group of the terminal: without this, `stty tostop` or a tcsetattr would stop us.
    ::signal(SIGTTOU, SIG_IGN);
  }
  ::dup2(child.errors, STDERR_FILENO);
  if (!child.cpu_mask.empty()) {
    // Binding is for speed alone; where the system refuses it, the rank runs unbound.
    ::sched_setaffinity(0, child.cpu_mask.size() * sizeof(unsigned long),
                        reinterpret_cast<const cpu_set_t*>(child.cpu_mask.data()));
  }
  ::signal(SIGXFSZ, SIG_DFL);  // we ignore it (see main), and what is ignored stays so
  ::sigprocmask(SIG_SETMASK, &child.signal_mask, nullptr);
  ::execve(child.path, child.arguments, child.environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(child.report, &error, sizeof error);
  ::_exit(1);
}

/// 0 once the program runs, else exec's errno.
int wait_for_exec(const FileDescriptor& report) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

Process start_process(const ProcessPlan& plan) {
  Pipe output = plan.inherit_stdout ? Pipe{} : make_pipe();
  Pipe errors = make_pipe();
  Pipe report = make_pipe();
  const std::vector<char*> arguments = pointers(plan.arguments);
  const std::vector<char*> environment = pointers(plan.environment);
  const std::vector<unsigned long> cpu_mask = mask_of(plan.cpus);
  const Child child{.path = plan.path.c_str(),
                    .arguments = arguments.data(),
                    .environment = environment.data(),
                    .cpu_mask = cpu_mask,
                    .signal_mask = plan.signal_mask,
                    .input = plan.inherit_stdin ? STDIN_FILENO : -1,
                    .output = output.write_end.get(),
                    .errors = errors.write_end.get(),
                    .report = report.write_end.get(),
                    .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) throw_system_error("Starting a process for a rank");
  if (pid == 0) become(child);
  report.write_end.reset();
  if (const int error = wait_for_exec(report.read_end); error != 0) {
    ::waitpid(pid, nullptr, 0);
    throw Error(ErrorCode::kInvalidArgument, explain_exec_failure(plan.path, error));
  }
  return {pid, std::move(output.read_end), std::move(errors.read_end)};
}

}  // namespace lockstep
