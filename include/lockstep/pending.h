#pragma once

#include <exception>
#include <memory>
#include <utility>

namespace lockstep {

/// What a Pending waits for. Implement it to hand an operation of your own to code that expects a Pending
/// (a communication hook, for instance). Both functions are called from the thread that holds the Pending,
/// never from two at once. Errors are thrown as lockstep::Error, from either.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Does what can be done without waiting; true once the operation is complete.
  virtual bool advance() = 0;
  /// Completes the operation, waiting as long as it takes or its deadline allows.
  virtual void wait() = 0;
};

/// An operation under way. The buffer it was given must stay alive and untouched until `wait()` returns or
/// `done()` says true. Destroying a Pending that was not waited for waits, and swallows nothing: an operation that
/// fails there makes the next operation of its group fail with the same error. A default Pending is complete.
class [[nodiscard]] Pending {
 public:
  Pending() = default;
  explicit Pending(std::shared_ptr<Operation> operation) : operation_(std::move(operation)) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    if (this != &other) {
      settle();
      operation_ = std::move(other.operation_);
    }
    return *this;
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { settle(); }

  /// Completes the operation. Throws lockstep::Error. Returns at once if complete.
  void wait() {
    if (auto operation = std::move(operation_)) operation->wait();
  }

  /// Does what can be done without waiting; true once complete. Throws lockstep::Error.
  bool done() {
    if (!operation_) return true;
    if (!operation_->advance()) return false;
    operation_.reset();
    return true;
  }

 private:
  void settle() noexcept {
    if (!operation_) return;
    try {
      wait();
    } catch (const std::exception&) {
      // The group remembers its first error and throws it again from its next operation.
    }
  }

  std::shared_ptr<Operation> operation_;
};

}  // namespace lockstep
