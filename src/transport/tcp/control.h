#pragma once

#include "base/file_descriptor.h"
#include "transport/message_transport.h"

#include <lockstep/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lockstep::tcp {

/// What one peer says beside the data: that it leaves, or has failed and why, or, when asked, that it waits itself; and
/// what it is told to say. The end of its process closes the connection.
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

  /// As MessageTransport::tell and told_by.
  void tell(std::span<const std::byte> what) noexcept;
  std::span<const std::byte> told() const { return {told_.data(), told_bytes_}; }

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
  std::array<std::byte, MessageTransport::kMostToldBytes> told_{};
  std::size_t told_bytes_ = 0;
  Word word_{};
  std::size_t received_ = 0;  ///< of the word
};

}  // namespace lockstep::tcp
