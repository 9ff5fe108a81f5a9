#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {

/// Makes the things of a range of numbers on threads of its own, and hands them out in order: never more than `ahead`
/// are finished or under way before they are asked for. One thread takes; it also makes and destroys this.
template <class T>
class Prefetch {
 public:
  using Make = std::function<T(std::int64_t number)>;
  struct Options {
    std::int64_t first = 0;  ///< number
    std::int64_t end = 0;    ///< after the last number
    int workers = 1;
    int ahead = 2;
  };

  /// `make` is called by several threads at once if there are several workers.
  Prefetch(Make make, const Options& options)
      : make_(std::move(make)),
        taken_(options.first),
        next_(options.first),
        end_(options.end),
        slots_(static_cast<std::size_t>(options.ahead)) {
    try {
      for (int i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {  // no thread was to be had
      stop();
      throw;
    }
  }
  /// Waits for what is being made, and drops it.
  ~Prefetch() { stop(); }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// The next one, or what its making threw. Not beyond the end.
  T take() {
    Slot slot;
    {
      std::unique_lock lock(mutex_);
      Slot& own = slot_of(taken_);
      filled_.wait(lock, [&own] { return own.thing || own.error; });
      slot = std::exchange(own, {});
      ++taken_;
    }
    room_.notify_one();
    if (slot.error) std::rethrow_exception(slot.error);
    return std::move(*slot.thing);
  }

 private:
  /// Empty, or what making a number came to.
  struct Slot {
    std::optional<T> thing;
    std::exception_ptr error;
  };

  Slot& slot_of(std::int64_t number) { return slots_[static_cast<std::size_t>(number) % slots_.size()]; }

  void work() {
    while (const auto number = claim()) {
      Slot made;
      try {
        made.thing = make_(*number);
      } catch (...) {
        made.error = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        slot_of(*number) = std::move(made);
      }
      filled_.notify_one();
    }
  }

  /// The number to make next, when there is room for it; none at the end.
  std::optional<std::int64_t> claim() {
    std::unique_lock lock(mutex_);
    const auto ahead = static_cast<std::int64_t>(slots_.size());
    room_.wait(lock, [&] { return stopping_ || next_ == end_ || next_ < taken_ + ahead; });
    if (stopping_ || next_ == end_) return std::nullopt;
    return next_++;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  Make make_;
  std::mutex mutex_;
  std::condition_variable room_;    ///< for one more to be made
  std::condition_variable filled_;  ///< a slot
  std::int64_t taken_;              ///< number to be taken next
  std::int64_t next_;               ///< number to be made next
  std::int64_t end_;
  bool stopping_ = false;
  std::vector<Slot> slots_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
