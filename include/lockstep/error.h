#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace lockstep {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  ///< this call's own arguments are wrong; nothing was sent
  kMismatch,         ///< ranks asked for different operations, sizes or data types
  kPeerDied,         ///< a peer's process ended without leaving the group
  kPeerLeft,         ///< a peer left the group (finished, or threw) while it was waited for
  kTimeout,          ///< a deadline passed
  kTransport,        ///< the system refused something that moving bytes needs, or something was thrown amid it
  kOutOfMemory,      ///< memory could not be had, for a buffer or in the midst of an operation
  kRefused,          ///< a schedule is not valid or could not be proved
  kIo,               ///< a file could not be read or written
  kUnsupported,      ///< asked for something that this build or machine has not
  kNonFinite,        ///< a gradient is infinite or not a number
};

/// What this library throws. `what()` is a whole sentence: what happened, where, what to do. Only where there is no
/// memory for what a call is to make or to answer (a world, a list of ranks) may std::bad_alloc come out of it as it
/// is; operations of a group say kOutOfMemory.
class Error : public std::runtime_error {
 public:
  /// What the error belongs to; -1 and empty where it belongs to none.
  struct Context {
    int rank = -1;               ///< the rank that reports it
    int peer = -1;               ///< the rank it is about
    std::string operation;       ///< "all_reduce"
    std::uint64_t sequence = 0;  ///< the operation's number in its group, from 1; 0 outside of operations
    std::string purpose;         ///< what the operation was for, as the caller named it
  };

  Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  Error(ErrorCode code, const std::string& text, Context context)
      : std::runtime_error(text), code_(code), context_(std::move(context)) {}

  ErrorCode code() const noexcept { return code_; }
  const Context& context() const noexcept { return context_; }
  int rank() const noexcept { return context_.rank; }
  int peer() const noexcept { return context_.peer; }

 private:
  ErrorCode code_;
  Context context_;
};

}  // namespace lockstep
