#pragma once

#include "base/file_descriptor.h"
#include "transport/message_transport.h"

#include <lockstep/error.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lockstep::tcp {

/// What one peer says beside the data: that it leaves, or has failed and why, or, when asked, that it waits itself; and
/// what it is told to say. The end of its process closes the connection.
///
/// Words that do not go, because the peer does not read, are kept and go first once there is room; of each kind the
/// last one only.
class Control {
 public:
  enum class State : std::uint8_t { kActive, kLeft, kFailed, kGone };

  Control(int peer, FileDescriptor socket) : peer_(peer), socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  /// Reads what is there, and sends what did not go. Never waits. Throws Error (kTransport) of what no rank says.
  void listen();
  /// Says that this rank waits for somebody, if the peer has asked. For who does.
  void answer() noexcept;
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
  /// Whether something has not gone yet.
  bool has_more_to_say() const;
  /// Waits until it has, but no longer than until then.
  void finish_saying(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  struct Word {
    std::uint32_t kind;
    std::uint32_t code;
    std::int32_t about;
    std::array<char, 1012> text;
  };

  /// Also the order in which they go, the last one first: whoever left says no more.
  enum Kind : std::uint32_t {
    kLeftWord = 1,
    kFailedWord,
    kQuestion,  ///< does it wait for somebody
    kWaits,     ///< the answer of one that does; others say nothing
    kTold,      ///< so many bytes as its code says
    kKinds = kTold
  };

  void take_word();
  void say(const Word& word) noexcept;
  void send_unsent() noexcept;
  bool take_unsent() noexcept;

  int peer_;
  FileDescriptor socket_;
  State state_ = State::kActive;
  bool waits_ = false;
  bool is_asked_ = false;
  std::array<std::byte, MessageTransport::kMostToldBytes> told_{};
  std::size_t told_bytes_ = 0;
  Word word_{};
  std::size_t received_ = 0;  ///< of the word
  Word going_{};
  std::size_t gone_ = sizeof(Word);                 ///< of that
  std::array<std::optional<Word>, kKinds> unsent_;  ///< by kind, and what goes after it
};

}  // namespace lockstep::tcp
