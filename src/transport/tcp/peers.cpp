#include "transport/tcp/peers.h"

#include "transport/tcp/tcp_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// For the word that explains why a stream broke.
constexpr milliseconds kLastWord{500};
/// For a peer that waits to say so.
constexpr milliseconds kAnswer{250};

}  // namespace

Peers::Peers(int rank, std::vector<FileDescriptor> controls) : rank_(rank) {
  for (FileDescriptor& control : controls) {
    controls_.emplace_back(static_cast<int>(controls_.size()), std::move(control));
  }
  polled_.reserve(2 * controls_.size());
}

bool Peers::poll(std::span<const pollfd> wanted, Deadline deadline) {
  polled_.assign(wanted.begin(), wanted.end());
  for (const Control& control : controls_) polled_.push_back({control.descriptor(), POLLIN, 0});
  const int ready = ::poll(polled_.data(), polled_.size(), milliseconds_until(deadline));
  const auto first_control = polled_.begin() + static_cast<std::ptrdiff_t>(wanted.size());
  const bool met = std::any_of(polled_.begin(), first_control, [](const pollfd& one) { return one.revents != 0; });
  for (std::size_t i = wanted.size(); ready > 0 && i < polled_.size(); ++i) {
    if (polled_[i].revents != 0) controls_[i - wanted.size()].listen();
  }
  if (!met) check();
  return ready != 0 || steady_clock::now() < deadline;
}

std::vector<int> Peers::ask_who_is_idle() {
  for (Control& control : controls_) control.ask();
  const auto end = steady_clock::now() + kAnswer;
  while (steady_clock::now() < end && !idle().empty()) {
    polled_.clear();
    for (const Control& control : controls_) polled_.push_back({control.descriptor(), POLLIN, 0});
    ::poll(polled_.data(), polled_.size(), milliseconds_until(end));
    for (Control& control : controls_) control.listen();
    check();
  }
  return idle();
}

std::vector<int> Peers::idle() const {
  std::vector<int> peers;
  for (int peer = 0; peer < size(); ++peer) {
    const Control& control = controls_[static_cast<std::size_t>(peer)];
    const bool is_there = peer != rank_ && control.state() == Control::State::kActive;
    if (is_there && !control.says_it_waits()) peers.push_back(peer);
  }
  return peers;
}

void Peers::check() const {
  // A peer's own word comes first: it knows more than a connection that broke does.
  for (const Control& control : controls_) {
    if (control.state() == Control::State::kFailed) throw control.failure();
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (state(peer) == Control::State::kGone) throw died(peer);
  }
}

void Peers::throw_broken(int peer) {
  Control& control = controls_[static_cast<std::size_t>(peer)];
  control.listen();
  if (control.state() == Control::State::kActive) {
    pollfd polled{control.descriptor(), POLLIN, 0};
    ::poll(&polled, 1, static_cast<int>(kLastWord.count()));
  }
  for (Control& any : controls_) any.listen();
  check();
  if (state(peer) == Control::State::kLeft) {
    throw Error(ErrorCode::kPeerLeft,
                fmt::format("rank {} has left the group; do all ranks run the same number of operations?", peer),
                {.rank = rank_, .peer = peer});
  }
  throw died(peer);
}

void Peers::say_left() noexcept {
  if (!process_.is_this()) return;
  for (Control& control : controls_) control.say_left();
  for (Control& control : controls_) control.close();
}

void Peers::say_failed(const Error& error) noexcept {
  if (!process_.is_this()) return;
  for (Control& control : controls_) control.say_failed(error);
}

Error Peers::died(int peer) const {
  return {ErrorCode::kPeerDied, fmt::format("rank {} died", peer), {.rank = rank_, .peer = peer}};
}

}  // namespace lockstep::tcp
