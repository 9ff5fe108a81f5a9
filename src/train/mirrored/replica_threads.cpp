#include "train/mirrored/replica_threads.h"

#include "train/mirrored/blas_threads.h"
#include "train/mirrored/thread_generator.h"

#include <ATen/Parallel.h>
#include <lockstep/error.h>

namespace lockstep::detail {

ReplicaThreads::ReplicaThreads(int replicas, ReplicaSettings settings) : replicas_(replicas) {
  set_blas_threads(settings.computing_threads);
  host_ = std::thread([this, settings] {
    std::exception_ptr failure;
    try {
      run_threads(replicas_, [&](World& world) { work(world, settings); });
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ended_ = true;
    changed_.notify_all();
  });
}

ReplicaThreads::~ReplicaThreads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  host_.join();
}

void ReplicaThreads::run(const std::function<void(World&)>& task) {
  std::unique_lock lock(mutex_);
  if (!ended_) {
    task_ = &task;
    running_ = replicas_;
    ++round_;
    changed_.notify_all();
    // After a failure `task` may still be running elsewhere until all threads have ended.
    changed_.wait(lock, [this] { return ended_ || (running_ == 0 && !over_); });
  }
  if (failure_) std::rethrow_exception(failure_);
}

void ReplicaThreads::work(World& world, const ReplicaSettings& settings) {
  at::set_num_threads(settings.computing_threads);
  const ThreadGenerator generator(settings.seed + static_cast<std::uint64_t>(world.rank()));
  std::uint64_t round = 0;
  while (const auto* const task = await_task(round)) {
    try {
      (*task)(world);
    } catch (...) {
      finish_task(true);
      throw;
    }
    finish_task(false);
  }
}

const std::function<void(World&)>* ReplicaThreads::await_task(std::uint64_t& round) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return over_ || round_ > round; });
  if (over_) return nullptr;
  ++round;
  return task_;
}

void ReplicaThreads::finish_task(bool failed) {
  const std::lock_guard lock(mutex_);
  --running_;
  over_ = over_ || failed;
  changed_.notify_all();
}

}  // namespace lockstep::detail
