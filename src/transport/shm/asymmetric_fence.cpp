#include "transport/shm/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace lockstep::shm {

namespace {

bool kernel_helps() {
  static const bool kHelps = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  return kHelps;
}

}  // namespace

void light_fence() {
  if (kernel_helps()) {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler keeps the order
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void heavy_fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (kernel_helps()) ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace lockstep::shm
