#include "train/mirrored/blas_threads.h"

#include "train/mirrored/replica_threads.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace lockstep::detail {

TEST(BlasThreads, AreAsManyAsAReplicaHas) {
  void* const library = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) GTEST_SKIP() << "libtorch has not loaded libopenblas.so.0: it multiplies by another library";
  void* const symbol = ::dlsym(library, "openblas_get_num_threads");
  ::dlclose(library);
  ASSERT_NE(symbol, nullptr);
  const auto blas_threads = reinterpret_cast<int (*)()>(symbol);
  set_blas_threads(2);
  EXPECT_EQ(blas_threads(), 2);
  const ReplicaThreads replicas(2, {.computing_threads = 1, .seed = 0});
  EXPECT_EQ(blas_threads(), 1);
}

}  // namespace lockstep::detail
