#pragma once

#include "base/file_descriptor.h"

#include <lockstep/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockstep::tcp {

/// What one peer says beside the data: that it leaves, or has failed and why. Its silence says nothing; the end of its
/// process closes the connection.
class Control {
 public:
  enum class State : std::uint8_t { kActive, kLeft, kFailed, kGone };

  Control(int peer, FileDescriptor socket) : peer_(peer), socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  /// Reads what is there. Never waits.
  void listen();
  State state() const { return state_; }
  /// What it failed of. Only in state kFailed.
  Error failure() const;

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

  void say(const Word& word) noexcept;

  int peer_;
  FileDescriptor socket_;
  State state_ = State::kActive;
  Word word_{};
  std::size_t received_ = 0;  ///< of the word
};

}  // namespace lockstep::tcp
