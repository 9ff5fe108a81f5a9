#include "bench/comparison/conductor.h"

#include "launch/program.h"
#include "launch/rank_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

namespace lockstep::compare {

namespace {

using std::chrono::steady_clock;

FileDescriptor listen_at(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    throw_system_error("Making a socket for the peers");
  }
  return socket;
}

/// Whether there is something to read before the deadline.
bool readable(int descriptor, steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) == 1;
}

/// Waits for our child for so long; true when it has ended and is reaped.
bool ends_within(pid_t pid, std::chrono::milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace

PeerWorld::PeerWorld(const PeerPlan& plan, const std::filesystem::path& folder) : plan_(plan) {
  const std::filesystem::path path = folder / "socket";
  const FileDescriptor listener = listen_at(path);
  std::vector<std::string> environment = current_environment();
  environment.insert(environment.end(), plan.environment.begin(), plan.environment.end());
  environment.push_back("LOCKSTEP_COMPARE_SOCKET=" + path.string());
  environment.push_back("LOCKSTEP_COMPARE_STORE=" + folder.string());
  process_ = start_process(
      {.path = find_program(plan.command.front()), .arguments = plan.command, .environment = std::move(environment)});
  accept_ranks(listener, steady_clock::now() + std::chrono::seconds(30));
}

PeerWorld::~PeerWorld() {
  for (const Rank& rank : ranks_) {
    if (rank.socket) (void)::send(rank.socket.get(), "end\n", 4, MSG_NOSIGNAL);
  }
  const std::chrono::milliseconds patience(failure_.empty() ? 5000 : 100);
  if (ends_within(process_.pid, patience)) return;
  // A rank that hangs in its library does not hear us, nor, sometimes, its launcher.
  for (const Rank& rank : ranks_) {
    if (rank.pid > 0) ::kill(rank.pid, SIGKILL);
  }
  if (ends_within(process_.pid, std::chrono::seconds(5))) return;
  ::kill(-process_.pid, SIGKILL);
  ::waitpid(process_.pid, nullptr, 0);
}

void PeerWorld::accept_ranks(const FileDescriptor& listener, Deadline deadline) {
  ranks_.resize(static_cast<std::size_t>(plan_.ranks));
  for (int joined = 0; joined < plan_.ranks; ++joined) {
    FileDescriptor socket;
    while (!socket && steady_clock::now() < deadline) {
      if (readable(listener.get(), std::min(deadline, steady_clock::now() + std::chrono::milliseconds(100)))) {
        socket = FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      } else if (::waitid(P_PID, static_cast<id_t>(process_.pid), nullptr, WEXITED | WNOHANG | WNOWAIT) != 0) {
        break;
      }
    }
    const auto line = socket ? receive_line(socket, deadline) : std::nullopt;
    int rank = -1;
    pid_t pid = -1;
    if (line) std::istringstream(*line) >> rank >> pid;
    if (rank < 0 || rank >= plan_.ranks) return fail("its ranks did not start within 30 s");
    ranks_[static_cast<std::size_t>(rank)] = {std::move(socket), pid};
  }
}

std::optional<std::string> PeerWorld::receive_line(const FileDescriptor& socket, Deadline deadline) const {
  std::string text;
  std::array<char, 65536> piece{};
  while (text.empty() || text.back() != '\n') {
    if (!readable(socket.get(), deadline)) return std::nullopt;
    const ssize_t got = ::recv(socket.get(), piece.data(), piece.size(), 0);
    if (got <= 0) return std::nullopt;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<Answer> PeerWorld::ask(const std::string& command, std::chrono::milliseconds timeout) {
  if (!failure_.empty()) return std::nullopt;
  const std::string line = command + "\n";
  for (const Rank& rank : ranks_) (void)::send(rank.socket.get(), line.data(), line.size(), MSG_NOSIGNAL);
  Answer answer;
  const Deadline deadline = steady_clock::now() + timeout;
  for (const Rank& rank : ranks_) {
    const auto text = receive_line(rank.socket, deadline);
    if (!text) {
      fail(fmt::format("no answer within {} s to: {}", timeout.count() / 1000, command));
      return std::nullopt;
    }
    std::istringstream words(*text);
    std::uint64_t wrong = 0;
    words >> wrong;
    answer.wrong += wrong;
    std::size_t iteration = 0;
    for (double seconds = 0; words >> seconds; ++iteration) {
      if (answer.seconds.size() <= iteration) answer.seconds.push_back(0);
      answer.seconds[iteration] = std::max(answer.seconds[iteration], seconds);
    }
  }
  return answer;
}

std::string PeerWorld::last_words() const {
  std::string text(4096, '\0');
  const int descriptor = process_.errors.get();
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  const ssize_t got = ::read(descriptor, text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

void PeerWorld::fail(const std::string& why) {
  failure_ = why;
  const std::string words = last_words();
  fmt::print(stderr, "{}: {}\n{}", plan_.name, why, words);
}

}  // namespace lockstep::compare
