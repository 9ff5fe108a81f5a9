#pragma once

#include "transport/mpi/calls.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace lockstep::mpi {

/// MPI as this process has it: what `Calls` offers, with Errors.
class Process {
 public:
  /// Throws Error: kUnsupported without the library, kTransport if MPI does not start or another one started it
  /// otherwise than we need it.
  explicit Process(std::chrono::milliseconds timeout);
  /// The same of any `calls`, which outlive it.
  Process(const Calls& calls, std::chrono::milliseconds timeout);

  int rank() const { return started_.rank; }  ///< in MPI_COMM_WORLD
  int size() const { return started_.size; }
  int most_tag() const { return started_.most_tag; }

  void send(Request& request, std::span<const std::byte> data, int to, int tag, bool synchronous) const;
  void receive(Request& request, std::span<std::byte> room, int from, int tag) const;

  struct Came {
    std::size_t bytes;
    int from;
  };
  /// What came, or went, once it has.
  std::optional<Came> test(Request& request) const;
  /// Gives up what is under way, and lets go of its memory: frees it, or leaves it to MPI for ever where that may still
  /// use it. In a forked child MPI is not asked.
  template <class Memory>
  void give_up_receive(Request& request, std::unique_ptr<Memory> memory) const noexcept {
    if (calls_.cancel_receive(&request) == 0) (void)memory.release();
  }
  template <class Memory>
  void give_up_send(Request& request, std::unique_ptr<Memory> memory) const noexcept {
    if (calls_.forget_send(&request) == 0) (void)memory.release();
  }

  /// As Calls'.
  int make_communicator(std::span<const int> ranks, int tag) const;
  void begin(Request& request, int communicator, const WholeCollective& what) const;

  /// What is opened and not closed, since it failed or the process ended first, is not waited for at the process's end.
  void open() const noexcept { calls_.count_open(1); }
  void close() const noexcept { calls_.count_open(-1); }

  /// A number for a group that this rank leads, which no other group has; its tags are kTagsAGroup from there on.
  /// Throws Error (kTransport) once MPI has no tags left.
  int next_group() const;
  static constexpr int kTagsAGroup = 5;

 private:
  const Calls& calls_;
  Started started_;
};

}  // namespace lockstep::mpi
