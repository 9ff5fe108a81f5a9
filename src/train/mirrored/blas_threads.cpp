#include "train/mirrored/blas_threads.h"

#include <dlfcn.h>

namespace lockstep::detail {

void set_blas_threads(int threads) {
  void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (symbol != nullptr) reinterpret_cast<void (*)(int)>(symbol)(threads);
}

}  // namespace lockstep::detail
