#include "train/mirrored/blas_threads.h"

#include "train/mirrored/replica_threads.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace lockstep::detail {

TEST(BlasThreads, AreAsManyAsAReplicaHas) {
  void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
  if (symbol == nullptr) GTEST_SKIP() << "this libtorch does not multiply by OpenBLAS";
  const auto blas_threads = reinterpret_cast<int (*)()>(symbol);
  set_blas_threads(2);
  EXPECT_EQ(blas_threads(), 2);
  const ReplicaThreads replicas(2, {.computing_threads = 1, .seed = 0});
  EXPECT_EQ(blas_threads(), 1);
}

}  // namespace lockstep::detail
