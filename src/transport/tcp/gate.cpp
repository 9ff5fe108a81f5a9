#include "transport/tcp/gate.h"

#include "base/clock.h"

#include <lockstep/error.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <utility>

namespace lockstep::tcp {

using std::chrono::steady_clock;

Gate::Gate(FileDescriptor listener, Credentials credentials, int rank, std::chrono::milliseconds patience)
    : listener_(std::move(listener)), credentials_(std::move(credentials)), rank_(rank), patience_(patience) {}

std::optional<Gate::Admitted> Gate::admit(Deadline deadline) {
  do {
    for (Stranger& stranger : strangers_) {
      if (!hear(stranger)) continue;
      const bool accepted = believes(stranger);
      Answer answer{.accepted = accepted ? 1U : 0U, .proof = {}};
      if (accepted) answer.proof = prove(credentials_, Role::kAcceptor, stranger.challenge, stranger.claim.hello);
      // Into an empty buffer: it fits, or the other side is gone.
      const Moved moved = send_all(stranger.socket, &answer, sizeof answer, steady_clock::now());
      Admitted admitted{std::move(stranger.socket), stranger.claim.hello};
      if (accepted && moved == Moved::kAll) return admitted;
    }
    std::erase_if(strangers_, [](const Stranger& stranger) {
      return !stranger.socket || steady_clock::now() >= stranger.deadline;
    });
    wait(deadline);
    take_in_newcomers();
  } while (steady_clock::now() < deadline);
  return std::nullopt;
}

void Gate::wait(Deadline deadline) {
  polled_.assign(1, {listener_.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) polled_.push_back({stranger.socket.get(), POLLIN, 0});
  if (!strangers_.empty()) deadline = std::min(deadline, strangers_.front().deadline);
  ::poll(polled_.data(), polled_.size(), milliseconds_until(deadline));
}

void Gate::put_out_any() {
  std::uniform_int_distribution<std::ptrdiff_t> any(0, std::ssize(strangers_) - 1);
  strangers_.erase(strangers_.begin() + any(random_));
}

FileDescriptor Gate::next_newcomer() {
  // Who lacks descriptors is told so before the system looks whether anybody has come.
  pollfd polled{listener_.get(), POLLIN, 0};
  while (::poll(&polled, 1, 0) > 0) {
    try {
      return accept_from(listener_);
    } catch (const Error&) {
      if (strangers_.empty()) throw;
      put_out_any();
    }
  }
  return {};
}

void Gate::take_in_newcomers() {
  // As many at a time as there are places, so that those who came before are heard in between.
  for (std::size_t i = 0; i < kMostStrangers; ++i) {
    FileDescriptor socket = next_newcomer();
    if (!socket) return;
    Stranger stranger{std::move(socket), steady_clock::now() + patience_, make_challenge(), {}, 0};
    if (send_all(stranger.socket, &stranger.challenge, sizeof stranger.challenge, steady_clock::now()) != Moved::kAll) {
      continue;
    }
    if (strangers_.size() >= kMostStrangers) put_out_any();
    strangers_.push_back(std::move(stranger));
  }
}

bool Gate::hear(Stranger& stranger) {
  if (!stranger.socket) return false;
  auto* const bytes = reinterpret_cast<std::byte*>(&stranger.claim);
  const ssize_t got =
      ::recv(stranger.socket.get(), bytes + stranger.received, sizeof stranger.claim - stranger.received, 0);
  if (got > 0) {
    stranger.received += static_cast<std::size_t>(got);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    stranger.socket.reset();
    return false;
  }
  return stranger.received == sizeof stranger.claim;
}

bool Gate::believes(const Stranger& stranger) const {
  const Hello& hello = stranger.claim.hello;
  return same(stranger.claim.proof, prove(credentials_, Role::kConnector, stranger.challenge, hello)) &&
         hello.to == rank_;
}

}  // namespace lockstep::tcp
