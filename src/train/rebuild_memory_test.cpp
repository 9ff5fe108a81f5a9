// Buckets are laid out anew in the memory that there is, and where that does not suffice it is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "group/thread_world.h"
#include "train/gradient_hook.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using test::Vectors;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::int64_t kLargeCount = 10 << 20;

std::size_t kibibytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoul(line.substr(name.size()));
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

/// While it lives this process may take `bytes` of address space more than it has, and no more.
class AddressSpace {
 public:
  explicit AddressSpace(std::size_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = (kibibytes("VmSize:") << 10) + bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~AddressSpace() { ::setrlimit(RLIMIT_AS, &before_); }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

 private:
  rlimit before_{};
};

/// The gradients come in an order other than that of the first layout: a first.
void backward(Vectors& model) {
  const auto ones = torch::ones(kLargeCount);
  torch::Tensor loss = torch::zeros({});
  auto names = model.named_parameters().keys();
  std::reverse(names.begin(), names.end());
  for (const auto& name : names) loss = loss + (model[name] * ones).sum();
  loss.backward();
}

/// Limits address space to `bytes` more than there is when the next backward has made all its gradients, of which that
/// of `first` comes first, and before the buckets are laid out anew.
void limit_after_gradients(torch::Tensor first, std::size_t bytes, std::optional<AddressSpace>& limit) {
  first.register_hook(
      [bytes, &limit](const torch::Tensor&) { at_end_of_backward([bytes, &limit] { limit.emplace(bytes); }); });
}

std::string error_of_backward(Vectors& model) {
  try {
    backward(model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    return error.what();
  }
  return "no error";
}

TEST(RebuildMemory, WhereThereIsNoneItIsSaidAndGradientsStay) {
  detail::run_threads_over_tcp(1, [](World& world) {
    Vectors model({"a", "b"}, kLargeCount);
    const DataParallel replica(world, model);
    std::optional<AddressSpace> limit;
    limit_after_gradients(model["a"], std::size_t{20} << 20, limit);
    EXPECT_THAT(error_of_backward(model), HasSubstr("bytes of memory could not be had"));
    limit.reset();
    EXPECT_THAT(model.gradient("a"), Optional(1));
    EXPECT_THAT(model.gradient("b"), Optional(1));
    EXPECT_THAT(error_of_backward(model), HasSubstr("wrap the model again"));
  });
}

TEST(RebuildMemory, HoldsOneBucketMoreThanTheGradientsNeed) {
  detail::run_threads_over_tcp(1, [](World& world) {
    Vectors model({"a", "b", "c", "d"}, kLargeCount);
    const DataParallel replica(world, model);
    std::optional<AddressSpace> limit;  // for one bucket and a half
    limit_after_gradients(model["a"], std::size_t{60} << 20, limit);
    backward(model);
    limit.reset();
    EXPECT_THAT(model.gradient("a"), Optional(1));
    EXPECT_THAT(model.gradient("d"), Optional(1));
  });
}

}  // namespace
}  // namespace lockstep
