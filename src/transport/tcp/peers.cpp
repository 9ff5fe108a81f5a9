#include "transport/tcp/peers.h"

#include "base/clock.h"
#include "transport/meeting.h"
#include "transport/tcp/tcp_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// For a peer that waits to say so.
constexpr milliseconds kAnswer{250};
/// Who never waits listens so often: a peer says a word a second at most, of which any buffer holds several.
constexpr milliseconds kBetweenListening{100};

}  // namespace

Peers::Peers(int rank, std::vector<FileDescriptor> controls) : rank_(rank) {
  for (FileDescriptor& control : controls) {
    controls_.emplace_back(static_cast<int>(controls_.size()), std::move(control));
  }
  polled_.reserve(2 * controls_.size());
}

bool Peers::poll(std::span<const pollfd> wanted, Deadline deadline) {
  for (Control& control : controls_) control.answer();
  polled_.assign(wanted.begin(), wanted.end());
  add_controls(polled_);
  // A last word that was heard before wakes nobody.
  const int ready = ::poll(polled_.data(), polled_.size(), is_hopeless() ? 0 : milliseconds_until(deadline));
  if (ready < 0 && errno != EINTR) throw_system_error("Waiting for the peers' connections");
  const auto first_control = polled_.begin() + static_cast<std::ptrdiff_t>(wanted.size());
  const bool met = std::any_of(polled_.begin(), first_control, [](const pollfd& one) { return one.revents != 0; });
  if (ready > 0) listen_to_ready(wanted.size());
  for (Control& control : controls_) control.answer();
  if (!met) check();
  return ready != 0 || steady_clock::now() < deadline;
}

void Peers::add_controls(std::vector<pollfd>& sockets) const {
  for (const Control& control : controls_) {
    // Of who has failed nothing more is read: what stands there would wake for ever whoever sleeps.
    const int socket = control.state() == Control::State::kFailed ? -1 : control.descriptor();
    const int events = POLLIN | (control.has_more_to_say() ? POLLOUT : 0);
    sockets.push_back({socket, static_cast<short>(events), 0});
  }
}

void Peers::listen_to_ready(std::size_t first_control) {
  for (std::size_t i = first_control; i < polled_.size(); ++i) {
    if (polled_[i].revents != 0) controls_[i - first_control].listen();
  }
}

/// Throws nothing that it hears: what the peer gave before is to be taken first. A question stays open until somebody
/// waits here.
void Peers::listen() {
  const auto now = steady_clock::now();
  if (now < listens_at_) return;
  listens_at_ = now + kBetweenListening;
  listen_to_all();
}

void Peers::listen_to_all() {
  polled_.clear();
  add_controls(polled_);
  if (::poll(polled_.data(), polled_.size(), 0) > 0) listen_to_ready(0);
}

void Peers::answer(std::vector<pollfd>& sockets) {
  listen_to_all();
  for (Control& control : controls_) control.answer();
  add_controls(sockets);
}

void Peers::look_around() {
  for (Control& control : controls_) {
    control.listen();
    control.answer();
  }
  check();
}

std::vector<int> Peers::ask_who_is_idle() {
  for (Control& control : controls_) control.ask();
  const auto end = steady_clock::now() + kAnswer;
  while (steady_clock::now() < end && !idle().empty()) {
    polled_.clear();
    add_controls(polled_);
    ::poll(polled_.data(), polled_.size(), milliseconds_until(end));
    for (Control& control : controls_) {
      control.listen();
      control.answer();
    }
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

bool Peers::is_hopeless() const {
  return std::any_of(controls_.begin(), controls_.end(), [](const Control& control) {
    return control.state() == Control::State::kFailed || control.state() == Control::State::kGone;
  });
}

void Peers::throw_broken(int peer) {
  Control& control = controls_[static_cast<std::size_t>(peer)];
  control.listen();
  if (control.state() == Control::State::kActive) {
    pollfd polled{control.descriptor(), POLLIN, 0};
    ::poll(&polled, 1, static_cast<int>(Company::kLastWord.count()));
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

void Peers::leave(std::vector<pollfd>& streams) noexcept {
  if (!process_.is_this()) return;
  // Who has failed has given its last word its time, and what it sent before is of no use to anybody.
  const Deadline end = steady_clock::now() + (has_failed_ ? milliseconds(0) : Company::kLastWord);
  for (Control& control : controls_) control.say_left();
  finish_saying(end);
  for (const Control& control : controls_) streams.push_back({control.descriptor(), POLLIN, 0});
  finish_sending(streams, end);
}

void Peers::say_failed(const Error& error) noexcept {
  if (!process_.is_this()) return;
  has_failed_ = true;
  for (Control& control : controls_) control.say_failed(error);
  finish_saying(steady_clock::now() + Company::kLastWord);
}

void Peers::finish_saying(Deadline deadline) noexcept {
  for (Control& control : controls_) control.finish_saying(deadline);
}

Error Peers::died(int peer) const {
  return {ErrorCode::kPeerDied, fmt::format("rank {} died", peer), {.rank = rank_, .peer = peer}};
}

}  // namespace lockstep::tcp
