#pragma once

#include "transport/message_transport.h"
#include "transport/mpi/process.h"

#include <lockstep/error.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace lockstep::mpi {

/// What one peer says beside the data: that it leaves, and how many bytes it sent before, or has failed and why, or,
/// when asked, that it waits itself; and what it is told to say. That its process ends nobody says: MPI's launcher ends
/// the job.
class Control {
 public:
  enum class State : std::uint8_t { kActive, kLeft, kFailed };
  /// Bytes of each of the two streams.
  using Sent = std::array<std::uint64_t, 2>;

  /// `peer`: its rank in the group.
  Control(const Process& process, int peer, int world_rank, int tag);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Reads what is there, and answers a question, since whoever listens is one that waits. Never waits. Whether the
  /// peer has told something. Throws Error (kTransport) of what no rank says.
  bool listen();
  State state() const { return state_; }
  /// What it failed of. Only in state kFailed.
  Error failure() const;
  /// What it had sent when it left. Only in state kLeft.
  const Sent& sent() const { return word_->sent; }

  void ask();
  bool says_it_waits() const { return waits_; }
  /// As MessageTransport::tell and told_by.
  void tell(std::span<const std::byte> what);
  std::span<const std::byte> told() const { return {told_.data(), told_bytes_}; }
  void say_left(const Sent& sent) noexcept;
  void say_failed(const Error& error) noexcept;

 private:
  struct Word {
    std::uint32_t kind;
    std::uint32_t code;
    std::int64_t about;
    Sent sent;
    std::array<char, 992> text;
  };

  void say(const Word& word);
  bool take_word();
  void expect_word();

  const Process& process_;
  int peer_;
  int world_rank_;
  int tag_;
  State state_ = State::kActive;
  bool waits_ = false;
  std::array<std::byte, MessageTransport::kMostToldBytes> told_{};
  std::size_t told_bytes_ = 0;
  Request receive_;
  std::unique_ptr<Word> word_ = std::make_unique<Word>();  ///< MPI may keep it
};

}  // namespace lockstep::mpi
