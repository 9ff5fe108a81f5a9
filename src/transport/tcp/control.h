#pragma once

#include "base/file_descriptor.h"

#include <lockstep/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockstep::tcp {

/// What one peer says beside the data: that it leaves, or has failed and why, or, when asked, that it waits itself. The
/// end of its process closes the connection.
class Control {
 public:
  enum class State : std::uint8_t { kActive, kLeft, kFailed, kGone };

  Control(int peer, FileDescriptor socket) : peer_(peer), socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  /// Reads what is there, and answers a question, since whoever listens is one that waits. Never waits.
  void listen();
  State state() const { return state_; }
  /// What it failed of. Only in state kFailed.
  Error failure() const;

  /// Asks whether the peer waits for somebody; forgets what it said before.
  void ask() noexcept;
  bool says_it_waits() const { return waits_; }

  void say_left() noexcept;
  void say_failed(const Error& error) noexcept;
  /// Says that nothing follows, and takes what is still there, lest the system drop what we said.
  void close() noexcept;

 private:
  struct Word {
    std::uint32_t kind;
    std::uint32_t code;
    std::int32_t about;
    std::array<char, 1012> text;
  };

  void take_word();
  void say(const Word& word) noexcept;

  int peer_;
  FileDescriptor socket_;
  State state_ = State::kActive;
  bool waits_ = false;
  Word word_{};
  std::size_t received_ = 0;  ///< of the word
};

}  // namespace lockstep::tcp
