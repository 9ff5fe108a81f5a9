#include "bench/peers/peer.h"

#include "base/file_descriptor.h"
#include "bench/memory.h"
#include "topology/caches.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace lockstep::compare {

namespace {

FileDescriptor connect_to_conductor() {
  const char* path = std::getenv("LOCKSTEP_COMPARE_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return FileDescriptor();
  std::strcpy(address.sun_path, path);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return FileDescriptor();
  return socket;
}

bool send_all(int socket, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t more = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += static_cast<std::size_t>(more);
  }
  return true;
}

/// One command; commands come one at a time, each after the answer to the one before.
std::optional<std::string> receive_line(int socket) {
  std::string line;
  for (char character = 0; ::recv(socket, &character, 1, 0) == 1;) {
    if (character == '\n') return line;
    line += character;
  }
  return std::nullopt;
}

class Server {
 public:
  explicit Server(const Peer& peer) : peer_(peer), cache_bytes_(last_level_cache_bytes()) {}

  std::string answer(const std::string& command) {
    std::istringstream words(command);
    std::string verb;
    words >> verb;
    std::vector<double> seconds;
    const std::uint64_t wrong = verb == "copy" ? copy(words, seconds) : measure(words, seconds);
    std::string text = std::to_string(wrong);
    for (const double value : seconds) fmt::format_to(std::back_inserter(text), " {:.9e}", value);
    return text + "\n";
  }

 private:
  std::uint64_t measure(std::istream& words, std::vector<double>& seconds) {
    std::size_t bytes = 0;
    bool cold = false;
    bool plain = false;
    bench::Round round;
    words >> bytes >> cold >> plain >> round.iterations >> round.batch;
    const bench::Pattern pattern({.rank = peer_.rank, .ranks = peer_.ranks, .count = bytes / sizeof(float)});
    const bench::Layout layout = bench::make_layout(pattern, cold, cache_bytes_);
    bench::Workload workload(pattern, layout, memory(layout.bytes(), plain));
    bench::run_round(peer_.subject, workload, round, seconds);
    return workload.take_wrong();
  }

  std::uint64_t copy(std::istream& words, std::vector<double>& seconds) {
    std::size_t copies = 0;
    words >> copies;
    bench::CopyProbe probe(cache_bytes_);
    probe.run();
    for (std::size_t i = 0; i < copies; ++i) {
      peer_.subject.barrier();
      const auto start = std::chrono::steady_clock::now();
      probe.run();
      peer_.subject.barrier();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return 0;
  }

  /// One block of each kind, replaced where a larger one is needed.
  void* memory(std::size_t bytes, bool plain) {
    Block& block = blocks_[plain ? 1 : 0];
    if (block.bytes < bytes) {
      block = {};  // first: with buffers as large as caches two blocks may be more than there is
      block = {peer_.allocate(bytes, plain), bytes};
    }
    return block.data.get();
  }

  struct Block {
    std::shared_ptr<void> data;
    std::size_t bytes = 0;
  };
  Peer peer_;
  std::size_t cache_bytes_;
  Block blocks_[2];
};

}  // namespace

int serve(const Peer& peer) {
  const FileDescriptor socket = connect_to_conductor();
  if (!socket) {
    std::cerr << "This program is started by bench/compare, which sets LOCKSTEP_COMPARE_SOCKET.\n";
    return 2;
  }
  if (!send_all(socket.get(), fmt::format("{} {}\n", peer.rank, ::getpid()))) return 1;
  Server server(peer);
  while (const auto command = receive_line(socket.get())) {
    if (*command == "end") break;
    if (!send_all(socket.get(), server.answer(*command))) return 1;
  }
  return 0;
}

}  // namespace lockstep::compare
