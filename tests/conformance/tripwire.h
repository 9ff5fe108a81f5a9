#pragma once

#include "tests/conformance/forked_ranks.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep::conformance {

/// Counts what a rank moves: the steps that it signals where ranks see each other's memory, the bytes that it sends and
/// receives where they do not. Once armed it calls its action at a given count, in the middle of whatever is under way.
class Tripwire {
 public:
  /// `action` is called once `at` have passed from now on.
  void arm(std::uint64_t at, std::function<void()> action);
  /// How many have passed since this was made, or armed.
  std::uint64_t passed() const { return passed_; }
  void pass(std::uint64_t count);

  /// Of bytes, count only what goes to or comes from these.
  void count_only(std::vector<int> peers) { peers_ = std::move(peers); }
  void pass_bytes(int peer, std::uint64_t count);

 private:
  std::vector<int> peers_;  ///< empty: all
  std::uint64_t passed_ = 0;
  std::uint64_t at_ = 0;
  std::function<void()> action_;
};

/// What runs a rank's operations over a transport that tells the tripwire of all that passes, in
/// parts of the world too. It outlives the engine.
std::unique_ptr<detail::Engine> watched_engine(const Meeting& meeting, int rank, Tripwire& tripwire);

/// But for what it counts, the same as `inner`.
std::unique_ptr<MessageTransport> watched(std::unique_ptr<MessageTransport> inner, Tripwire& tripwire);

}  // namespace lockstep::conformance
