#pragma once

#include <lockstep/world.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::detail {

struct ReplicaSettings {
  int computing_threads = 1;  ///< of libtorch, in each replica; OpenBLAS's, of the process
  std::uint64_t seed = 0;     ///< of the first replica's generator; the next one's is one more
};

/// The ranks of a world of threads that stay: all run what they are given, round after round.
class ReplicaThreads {
 public:
  ReplicaThreads(int replicas, ReplicaSettings settings);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  int count() const { return replicas_; }
  /// Calls `task` in each thread and returns when all are done. Throws what the first to fail threw; the world is over
  /// then, and every later call throws the same.
  void run(const std::function<void(World&)>& task);

 private:
  /// One replica's thread, from the world's beginning to its end.
  void work(World& world, const ReplicaSettings& settings);
  /// The task of the next round; none when it is over.
  const std::function<void(World&)>* await_task(std::uint64_t& round);
  void finish_task(bool failed);

  const int replicas_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(World&)>* task_ = nullptr;
  std::uint64_t round_ = 0;
  int running_ = 0;             ///< threads that have not finished this round
  bool over_ = false;           ///< no round follows
  bool ended_ = false;          ///< and all threads have gone
  std::exception_ptr failure_;  ///< why, if one failed
  std::thread host_;            ///< waits for the others
};

}  // namespace lockstep::detail
