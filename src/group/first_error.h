#pragma once

#include "group/engine.h"
#include "group/identity.h"

#include <lockstep/error.h>

#include <exception>
#include <new>

namespace lockstep::detail {

/// The first error of a group, after which nothing more is attempted. Whoever catches something brings it here: the
/// peers are told, and each further call throws it again. To end the group takes no memory; where there is none for
/// words, all hear that this rank ran out of it.
class FirstError {
 public:
  /// Both stay where they are for as long as this does.
  FirstError(const Identity& identity, Engine& engine);

  bool is_there() const { return error_ != nullptr; }
  void throw_if_there() const {
    if (error_) std::rethrow_exception(error_);
  }

  /// While `thrown` is caught: tells the peers what `to_peers` makes of it as an Error, and throws what `to_caller`
  /// does.
  template <class ToPeers, class ToCaller>
  [[noreturn]] void fail(const std::exception& thrown, const ToPeers& to_peers, const ToCaller& to_caller) {
    error_ = std::current_exception();  // takes no memory: whatever becomes of the rest, nothing goes on
    bool is_told = false;
    try {
      const Error error = as_error(thrown);
      engine_.fail(to_peers(error));
      is_told = true;
      error_ = std::make_exception_ptr(to_caller(error));
    } catch (const std::bad_alloc&) {
      if (!is_told) engine_.fail(out_of_memory_);
      const bool is_error = dynamic_cast<const Error*>(&thrown) != nullptr;
      if (!is_error) error_ = std::make_exception_ptr(out_of_memory_);
    }
    std::rethrow_exception(error_);
  }

  /// Tells the peers that this rank takes no further part, and why. That is the error, unless there was one.
  void leave(const char* why) noexcept;

  /// For who has no memory for words, and ends nothing: to throw it takes none.
  const Error& out_of_memory() const { return out_of_memory_; }

 private:
  Error as_error(const std::exception& thrown) const;

  const Identity& identity_;
  Engine& engine_;
  std::exception_ptr error_;
  const Error out_of_memory_;  ///< made in time, for when nothing can be put into words any more
};

}  // namespace lockstep::detail
