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
};

}  // namespace detail

/// What a Pending waits for. Implement it to hand an operation of your own to code that expects a Pending
/// (a communication hook, for instance). Both functions are called from the thread that holds the Pending,
/// never from two at once. Errors are thrown as lockstep::Error, from either.
class Operation : public detail::Awaited {
 public:
  /// Does what can be done without waiting; true once the operation is complete.
  virtual bool advance() = 0;
  /// Completes the operation, waiting as long as it takes or its deadline allows.
  virtual void wait() = 0;

 private:
  bool advance_to(std::uint64_t) final { return advance(); }
  void wait_until(std::uint64_t) final { wait(); }
};

/// An operation under way. The buffer it was given must stay alive and untouched until `wait()` returns or
/// `done()` says true. Destroying a Pending that was not waited for waits, and swallows nothing: an operation that
/// fails there makes the next operation of its group fail with the same error. A default Pending is complete.
class [[nodiscard]] Pending {
 public:
  Pending() = default;
  explicit Pending(std::shared_ptr<Operation> operation) : awaited_(std::move(operation)) {}
  Pending(std::shared_ptr<detail::Awaited> awaited, std::uint64_t ticket)
      : awaited_(std::move(awaited)), ticket_(ticket) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    if (this != &other) {
      settle();
      awaited_ = std::move(other.awaited_);
      ticket_ = other.ticket_;
    }
    return *this;
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { settle(); }

  /// Completes the operation. Throws lockstep::Error. Returns at once if complete.
  void wait() {
    if (const auto awaited = std::move(awaited_)) awaited->wait_until(ticket_);
  }

  /// Does what can be done without waiting; true once complete. Throws lockstep::Error.
  bool done() {
    if (!awaited_) return true;
    if (!awaited_->advance_to(ticket_)) return false;
    awaited_.reset();
    return true;
  }

 private:
  void settle() noexcept {
    if (!awaited_) return;
    try {
      wait();
    } catch (const std::exception&) {
      // The group remembers its first error and throws it again from its next operation.
    }
  }

  std::shared_ptr<detail::Awaited> awaited_;
  std::uint64_t ticket_ = 0;
};

}  // namespace lockstep
