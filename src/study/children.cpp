#include "study/children.h"

#include "launch/program.h"
#include "launch/rank_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

namespace lockstep::study {

namespace {

constexpr int kUsageError = 2;
const std::set<int> kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = current_environment();
  for (const std::string& variable : more) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(all, [&](const std::string& ours) { return ours.starts_with(name); });
    all.push_back(variable);
  }
  return all;
}

/// Appends what is there; closes the pipe at its end.
void read_some(FileDescriptor& pipe, std::string& text) {
  std::array<char, 1 << 16> block;
  const ssize_t got = ::read(pipe.get(), block.data(), block.size());
  if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) pipe.reset();
}

int exit_code_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// The last line that says something.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return {};
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

void Children::signal_child(int signal) const {
  if (child_.pid > 0) ::kill(-child_.pid, signal);
}

void Children::answer_signals() {
  for (const int signal : signals_.take()) {
    if (kEndingSignals.count(signal) == 0) continue;
    interrupted_by_ = signal;
    signal_child(sent_++ == 0 ? SIGTERM : SIGKILL);  // a second one is impatient
  }
}

void Children::check() {
  answer_signals();
  if (interrupted_by_ != 0) throw Interrupted(interrupted_by_);
}

ChildResult Children::run(const ChildPlan& plan) {
  check();
  ProcessPlan process{.path = find_program(plan.command.front()),
                      .arguments = plan.command,
                      .environment = environment_with(plan.environment),
                      .cpus = {},
                      .signal_mask = signals_.mask_before()};
  child_ = start_process(process);
  sent_ = 0;
  ChildResult result;
  while (child_.output || child_.errors) {
    std::array<pollfd, 3> waiting{pollfd{child_.output.get(), POLLIN, 0}, pollfd{child_.errors.get(), POLLIN, 0},
                                  pollfd{signals_.descriptor(), POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;  // EINTR; poll passes over negative descriptors
    if (waiting[0].revents != 0) read_some(child_.output, result.output);
    if (waiting[1].revents != 0) read_some(child_.errors, result.errors);
    if (waiting[2].revents != 0) answer_signals();
  }
  result.exit_code = exit_code_of(child_.pid);
  child_.pid = -1;
  check();
  return result;
}

std::string Children::output_of(const ChildPlan& plan) {
  ChildResult result = run(plan);
  if (result.exit_code == 0) return std::move(result.output);
  const bool is_usage = result.exit_code == kUsageError;
  std::string said = last_line(result.errors);
  if (said.empty()) said = fmt::format("it ended with exit code {} and said nothing.", result.exit_code);
  throw Error(is_usage ? ErrorCode::kInvalidArgument : ErrorCode::kUnsupported,
              fmt::format("`{}` failed: {}", fmt::join(plan.command, " "), said));
}

}  // namespace lockstep::study
