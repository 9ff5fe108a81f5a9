// What the Python package `safetensors` reads of our files, and we of its. LOCKSTEP_PYTHON names a Python that has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/safetensors.h>
#include <torch/torch.h>

#include "base/atomic_file.h"
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

namespace lockstep {
namespace {

using testing_support::Command;

/// Prints each tensor of argv[1] and the sum of its bytes, and copies argv[2], without the type that numpy has not, to
/// argv[3].
constexpr const char* kCopy = R"(
import json, sys
from safetensors import deserialize
from safetensors.numpy import load_file, save_file
for name, tensor in sorted(deserialize(open(sys.argv[1], 'rb').read())):
    print(name, tensor['dtype'], list(tensor['shape']), sum(tensor['data']))
content = open(sys.argv[2], 'rb').read()
metadata = json.loads(content[8:8 + int.from_bytes(content[:8], 'little')])['__metadata__']
save_file(load_file(sys.argv[2]), sys.argv[3], metadata)
)";

class SafetensorsPython : public testing_support::TemporaryFolder {};

TEST_F(SafetensorsPython, ReadsOursAndWritesTheSameBytes) {
  if (!testing_support::python_has("safetensors.numpy")) {
    GTEST_SKIP() << "LOCKSTEP_PYTHON (or python3) has no packages safetensors and numpy";
  }
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto type : {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64,
                          torch::kFloat16, torch::kBFloat16, torch::kFloat32, torch::kFloat64}) {
    tensors.emplace_back(c10::toString(type), torch::arange(6).reshape({2, 3}).to(type));
  }
  const auto all = folder_ / "all", ours = folder_ / "ours", theirs = folder_ / "theirs";
  write_safetensors(all, tensors);
  std::erase_if(tensors, [](const auto& tensor) { return tensor.second.scalar_type() == torch::kBFloat16; });
  write_safetensors(ours, tensors, {{"format", "np"}});
  Command copy({testing_support::python(), "-c", kCopy, all.string(), ours.string(), theirs.string()});
  ASSERT_EQ(copy.wait(), 0) << copy.errors();
  EXPECT_THAT(copy.output(), testing::HasSubstr("Int I32 [2, 3] 15\n"));
  EXPECT_THAT(copy.output(), testing::HasSubstr("BFloat16 BF16 [2, 3] 799\n"));
  EXPECT_TRUE(read_file(ours) == read_file(theirs));
  const SafetensorsFile file(theirs);
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(torch::equal(file.tensor(name), tensor)) << name;
}

}  // namespace
}  // namespace lockstep
