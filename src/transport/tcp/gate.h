#pragma once

#include "transport/tcp/handshake.h"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

namespace lockstep::tcp {

/// Lets in who proves that it knows the job's secret, and nobody else. Strangers cost nothing but their place: at most
/// kMostStrangers connections that have proved nothing are held, each for as long as the gate has patience; when one
/// more comes, any one of them goes, so that no flood puts out for certain who is about to prove itself, as one that
/// goes by age would. One goes, too, where this process lacks what the next connection takes. Nothing is allocated by
/// what they send.
class Gate {
 public:
  static constexpr std::size_t kMostStrangers = 64;
  static constexpr std::chrono::milliseconds kPatience{5000};

  struct Admitted {
    FileDescriptor socket;
    Hello hello;
  };

  Gate(FileDescriptor listener, Credentials credentials, int rank, std::chrono::milliseconds patience = kPatience);

  /// The next that proves itself and wants this rank; none if nobody did by the deadline. Throws Error (kTransport)
  /// where the system has nothing left for one more connection, though no stranger is held.
  std::optional<Admitted> admit(Deadline deadline);

 private:
  struct Stranger {
    FileDescriptor socket;
    Deadline deadline;
    Challenge challenge;
    Claim claim;
    std::size_t received = 0;
  };

  void wait(Deadline deadline);
  void put_out_any();
  /// None where nobody is waiting.
  FileDescriptor next_newcomer();
  void take_in_newcomers();
  /// Whether the claim is complete. A connection that is over loses its socket.
  static bool hear(Stranger& stranger);
  bool believes(const Stranger& stranger) const;

  FileDescriptor listener_;
  Credentials credentials_;
  int rank_;
  std::chrono::milliseconds patience_;
  std::vector<Stranger> strangers_;  ///< who came first stands first
  std::vector<pollfd> polled_;
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace lockstep::tcp
