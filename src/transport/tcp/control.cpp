#include "transport/tcp/control.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lockstep::tcp {

namespace {

constexpr std::uint32_t kLeftWord = 1;
constexpr std::uint32_t kFailedWord = 2;
constexpr std::uint32_t kQuestion = 3;  ///< does it wait for somebody
constexpr std::uint32_t kWaits = 4;     ///< the answer of one that does; others say nothing
constexpr std::uint32_t kTold = 5;      ///< so many bytes as its code says

}  // namespace

void Control::listen() {
  while (socket_ && state_ != State::kFailed) {  // after that word nothing counts, and it is kept
    auto* const bytes = reinterpret_cast<std::byte*>(&word_);
    const ssize_t got = ::recv(socket_.get(), bytes + received_, sizeof word_ - received_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
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
    case kQuestion: say({.kind = kWaits, .code = 0, .about = 0, .text = {}}); break;
    case kWaits: waits_ = true; break;
    case kTold:
      told_bytes_ = std::min<std::size_t>(word_.code, told_.size());
      std::memcpy(told_.data(), word_.text.data(), told_bytes_);
      break;
    default:
      if (state_ == State::kActive) state_ = word_.kind == kFailedWord ? State::kFailed : State::kLeft;
  }
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

Error Control::failure() const {
  const auto length =
      static_cast<std::size_t>(std::find(word_.text.begin(), word_.text.end(), '\0') - word_.text.begin());
  const bool known = word_.code <= static_cast<std::uint32_t>(ErrorCode::kNonFinite);
  return {known ? static_cast<ErrorCode>(word_.code) : ErrorCode::kTransport,
          std::string(word_.text.data(), length),
          {.peer = word_.about >= 0 ? word_.about : peer_}};
}

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
  // Each rank says a few things, which fit into any socket's buffer.
  if (socket_) ::send(socket_.get(), &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Control::close() noexcept {
  if (!socket_) return;
  ::shutdown(socket_.get(), SHUT_WR);
  std::array<std::byte, sizeof(Word)> rest;
  while (::recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT) > 0) {
  }
  socket_.reset();
}

}  // namespace lockstep::tcp
