#include "transport/tcp/control.h"

#include "base/clock.h"
#include "transport/control_words.h"
#include "transport/tcp/tcp_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockstep::tcp {

void Control::listen() {
  send_unsent();
  while (socket_ && state_ != State::kFailed) {  // after that word nothing counts, and it is kept
    auto* const bytes = reinterpret_cast<std::byte*>(&word_);
    const ssize_t got = ::recv(socket_.get(), bytes + received_, sizeof word_ - received_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0 && !ends_connection(errno)) throw_system_error(fmt::format("Hearing what rank {} says", peer_));
    if (got <= 0) {
      // Its last word stands; only who went without one is gone.
      if (state_ == State::kActive) state_ = State::kGone;
      socket_.reset();
      return;
    }
    received_ += static_cast<std::size_t>(got);
    if (received_ < sizeof word_) continue;
    received_ = 0;
    take_word();
  }
}

void Control::take_word() {
  switch (word_.kind) {
    case kLeftWord:
      if (state_ == State::kActive) state_ = State::kLeft;
      break;
    case kFailedWord:
      if (state_ == State::kActive) state_ = State::kFailed;
      break;
    case kQuestion: is_asked_ = true; break;
    case kWaits: waits_ = true; break;
    case kTold:
      told_bytes_ = std::min<std::size_t>(word_.code, told_.size());
      std::memcpy(told_.data(), word_.text.data(), told_bytes_);
      break;
    default: throw unknown_word_of(peer_, word_.kind);
  }
}

void Control::answer() noexcept {
  if (std::exchange(is_asked_, false)) say({.kind = kWaits, .code = 0, .about = 0, .text = {}});
}

void Control::ask() noexcept {
  waits_ = false;
  say({.kind = kQuestion, .code = 0, .about = 0, .text = {}});
}

void Control::tell(std::span<const std::byte> what) noexcept {
  Word word{};
  word.kind = kTold;
  word.code = static_cast<std::uint32_t>(what.size());
  std::memcpy(word.text.data(), what.data(), std::min(what.size(), told_.size()));
  say(word);
}

Error Control::failure() const { return failure_told_by(peer_, word_.code, word_.about, word_.text); }

void Control::say_left() noexcept {
  Word word{};
  word.kind = kLeftWord;
  say(word);
}

void Control::say_failed(const Error& error) noexcept {
  Word word{};
  word.kind = kFailedWord;
  word.code = static_cast<std::uint32_t>(error.code());
  word.about = error.peer();
  std::strncpy(word.text.data(), error.what(), word.text.size() - 1);
  say(word);
}

void Control::say(const Word& word) noexcept {
  unsent_[word.kind - 1] = word;
  send_unsent();
}

void Control::send_unsent() noexcept {
  while (socket_ && (gone_ < sizeof going_ || take_unsent())) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&going_);
    const ssize_t sent = ::send(socket_.get(), bytes + gone_, sizeof going_ - gone_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && !ends_connection(errno)) return;
    // Nobody is there any more for the rest; listen() says what became of the peer.
    gone_ = sent < 0 ? sizeof going_ : gone_ + static_cast<std::size_t>(sent);
  }
}

/// Whether there is one that goes next.
bool Control::take_unsent() noexcept {
  const auto next = std::find_if(unsent_.rbegin(), unsent_.rend(), [](const auto& word) { return word.has_value(); });
  if (next == unsent_.rend()) return false;
  going_ = **next;
  next->reset();
  gone_ = 0;
  return true;
}

bool Control::has_more_to_say() const {
  const bool is_kept = std::any_of(unsent_.begin(), unsent_.end(), [](const auto& word) { return word.has_value(); });
  return socket_ && (gone_ < sizeof going_ || is_kept);
}

void Control::finish_saying(std::chrono::steady_clock::time_point deadline) noexcept {
  pollfd polled{descriptor(), POLLOUT, 0};
  while (has_more_to_say() && std::chrono::steady_clock::now() < deadline) {
    ::poll(&polled, 1, milliseconds_until(deadline));
    send_unsent();
  }
}

}  // namespace lockstep::tcp
