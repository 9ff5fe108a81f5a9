#include "launch/openblas.h"

#include "base/child_for_tests.h"
#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

using testing::AnyOf;
using testing::IsEmpty;
using testing::MatchesRegex;

TEST(OpenBlas, IsToldOnlyWhereItTookKernelsOfAnOldProcessor) {
  const std::string avx2 = "fpu sse2 avx avx2 fma", avx512 = avx2 + " avx512f avx512dq avx512cd avx512bw avx512vl";
  EXPECT_EQ(openblas_core_type("Prescott", avx512), "SkylakeX");
  EXPECT_EQ(openblas_core_type("Prescott", avx2), "Haswell");
  EXPECT_EQ(openblas_core_type("Prescott", avx2 + " avx512f"), "Haswell") << "Knights Landing has no more of AVX-512";
  EXPECT_EQ(openblas_core_type("Prescott", "fpu sse2 sse3 avx fma4 avx2x"), "");
  EXPECT_EQ(openblas_core_type("Zen", avx512), "");
  EXPECT_EQ(openblas_core_type("", avx512), "");
}

TEST(OpenBlas, IsAskedInAProcessOfItsOwn) {
  EXPECT_THAT(openblas_choice(), AnyOf(IsEmpty(), MatchesRegex("[A-Za-z0-9_]+")));
  EXPECT_EQ(::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD), nullptr);
}

TEST(OpenBlas, IsNotAskedWhereThereIsNoProcessOrPipeForIt) {
  if (const auto said = testing_support::said_with_few_tasks(0, [] { return "chose " + openblas_choice(); })) {
    EXPECT_EQ(*said, "Starting a process to ask OpenBLAS failed: Resource temporarily unavailable.");
  }
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT([] { openblas_choice(); },
              testing_support::refuses(ErrorCode::kTransport, "Making a pipe to ask OpenBLAS failed: Too many open"));
}

TEST(OpenBlas, OnceToldItTakesWhatItWasTold) {
  const std::string before = openblas_choice();
  if (before.empty()) GTEST_SKIP() << "there is no libopenblas.so.0";
  const std::string told = openblas_core_type(before, processor_flags());
  if (told.empty()) GTEST_SKIP() << "OpenBLAS knows this processor, as " << before;
  ASSERT_EQ(::setenv("OPENBLAS_CORETYPE", told.c_str(), 1), 0);
  EXPECT_EQ(openblas_choice(), told);
  ::unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace lockstep
