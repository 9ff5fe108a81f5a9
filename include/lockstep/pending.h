#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace lockstep {

namespace detail {

/// What Pendings wait for: one object for many of them, told apart by the ticket that each was given.
class Awaited {
 public:
  virtual ~Awaited() = default;
  virtual bool advance_to(std::uint64_t ticket) = 0;
  virtual void wait_until(std::uint64_t ticket) = 0;
  virtual void abandon_at(std::uint64_t ticket) = 0;
};

}  // namespace detail

/// What a Pending waits for. Implement it to hand an operation of your own to code that expects a Pending
/// (a communication hook, for instance). The functions are called from the thread that holds the Pending,
/// never from two at once. Errors are thrown as lockstep::Error, from any of them.
class Operation : public detail::Awaited {
 public:
  /// Does what can be done without waiting; true once the operation is complete.
  virtual bool advance() = 0;
  /// Completes the operation, waiting as long as it takes or its deadline allows.
  virtual void wait() = 0;
  /// An exception ends who holds the Pending, before the operation is complete: wait() is called next, for the last
  /// time, and should not take long. An operation made of other Pendings abandons those.
  virtual void abandon() {}

 private:
  bool advance_to(std::uint64_t) final { return advance(); }
  void wait_until(std::uint64_t) final { wait(); }
  void abandon_at(std::uint64_t) final { abandon(); }
};

/// An operation under way. The buffer it was given must stay alive and untouched until `wait()` returns or
/// `done()` says true. A default Pending is complete. What `wait()` has thrown is how the operation ended: it is not
/// asked again, and whatever else is asked of its Pending throws the same. Until then it keeps its group alive.
///
/// Destroying a Pending that was not waited for waits. What a group's operation fails with there is not lost: the next
/// operation of the group fails with the same error. What an Operation of your own throws there is, whatever it is,
/// since nobody remembers it: wait for those. Where an exception destroys the Pending (one that was not in flight when
/// the Pending was made) it does not wait for peers: unless the operation is complete this rank leaves the group, and
/// peers that wait for it are told (kPeerLeft).
///
/// A forked child has no part in its parent's groups: there, a call of a group or of its Pending throws
/// kInvalidArgument and destroying a Pending does nothing.
class [[nodiscard]] Pending {
 public:
  Pending() = default;
  explicit Pending(std::shared_ptr<Operation> operation) : Pending(std::move(operation), 0) {}
  Pending(std::shared_ptr<detail::Awaited> awaited, std::uint64_t ticket)
      : awaited_(std::move(awaited)), ticket_(ticket), exceptions_(std::uncaught_exceptions()) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    if (this != &other) {
      settle();
      awaited_ = std::move(other.awaited_);
      ticket_ = other.ticket_;
      exceptions_ = other.exceptions_;
      failure_ = std::move(other.failure_);
    }
    return *this;
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { settle(); }

  /// Completes the operation. Throws lockstep::Error. Returns at once if complete.
  void wait() {
    throw_if_failed();
    const auto awaited = std::move(awaited_);
    if (!awaited) return;
    try {
      awaited->wait_until(ticket_);
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }

  /// Does what can be done without waiting; true once complete. Throws lockstep::Error.
  bool done() {
    throw_if_failed();
    if (!awaited_) return true;
    if (!awaited_->advance_to(ticket_)) return false;
    awaited_.reset();
    return true;
  }

  /// As an exception does that destroys it: unless the operation is complete this rank leaves the group, and every
  /// further call of that throws. Throws lockstep::Error if the operation has failed.
  void abandon() {
    if (!done()) awaited_->abandon_at(ticket_);
  }

 private:
  void throw_if_failed() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  void settle() noexcept {
    if (!awaited_) return;
    try {
      if (std::uncaught_exceptions() > exceptions_) abandon();
      wait();
    } catch (...) {
      // The group remembers its first error and throws it again from its next operation; of an Operation of the
      // caller's own it is lost, as the class says.
    }
  }

  std::shared_ptr<detail::Awaited> awaited_;
  std::uint64_t ticket_ = 0;
  int exceptions_ = 0;          ///< in flight when it was made
  std::exception_ptr failure_;  ///< what wait() threw
};

}  // namespace lockstep
