#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <lockstep/safetensors.h>
#include <torch/torch.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "tests/processes/temporary_folder.h"
#include "train/test_errors.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Tensors = std::vector<std::pair<std::string, torch::Tensor>>;

class Safetensors : public testing_support::TemporaryFolder {
 protected:
  fs::path path() const { return folder_ / "a.safetensors"; }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
};

/// What `work` threw, an Error of this code.
template <class Work>
std::string refusal(const Work& work, ErrorCode code = ErrorCode::kInvalidArgument) {
  const test::Thrown thrown = test::thrown_by(work);
  EXPECT_EQ(thrown.code, code);
  return thrown.text;
}

/// One of each type that this torch and the format both have, with a name that says which.
Tensors all_types() {
  const torch::Tensor numbers = torch::arange(6, torch::kFloat64).reshape({2, 3}) - 2;
  Tensors tensors;
  for (const auto type : {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64,
                          torch::kFloat16, torch::kBFloat16, torch::kFloat32, torch::kFloat64, torch::kComplexFloat}) {
    tensors.emplace_back(c10::toString(type), (type == torch::kUInt8 ? numbers.abs() : numbers).to(type));
  }
  return tensors;
}

TEST_F(Safetensors, GivesBackEveryTypeToTheBit) {
  const Tensors tensors = all_types();
  write_safetensors(path(), tensors, {{"format", "pt"}});
  const SafetensorsFile file(path());
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "pt")));
  EXPECT_EQ(file.names().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(file.tensor(name).scalar_type(), tensor.scalar_type());
    EXPECT_EQ(file.sizes(name), tensor.sizes().vec());
    EXPECT_TRUE(torch::equal(file.tensor(name), tensor)) << name;
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(Safetensors, TakesScalarsEmptyAndStridedTensors) {
  const torch::Tensor matrix = torch::arange(12, torch::kFloat32).reshape({3, 4});
  const torch::Tensor odd =
      torch::tensor({true}, torch::kBool);  // one byte, so that nothing behind it would be aligned
  write_safetensors(path(), {{"scalar", torch::tensor(3.5)},
                             {"empty", torch::zeros({0, 7})},
                             {"odd", odd},
                             {"transposed", matrix.t()},
                             {"leaf", matrix.clone().requires_grad_()}});
  const SafetensorsFile file(path());
  EXPECT_EQ(file.tensor("scalar").dim(), 0);
  EXPECT_EQ(file.tensor("scalar").item<float>(), 3.5);
  EXPECT_EQ(file.tensor("empty").sizes(), (std::vector<std::int64_t>{0, 7}));
  EXPECT_TRUE(torch::equal(file.tensor("transposed"), matrix.t()));
  EXPECT_FALSE(file.tensor("leaf").requires_grad());
}

TEST_F(Safetensors, OutlivesTheFileAndIsNotWrittenThrough) {
  write_safetensors(path(), {{"w", torch::ones(4)}});
  torch::Tensor tensor;
  {
    const SafetensorsFile file(path());
    tensor = file.tensor("w");
    tensor.mul_(3);
    EXPECT_TRUE(torch::equal(file.tensor("w"), tensor)) << "the same memory";
  }
  EXPECT_TRUE(torch::equal(tensor, torch::full(4, 3.)));
  EXPECT_TRUE(torch::equal(SafetensorsFile(path()).tensor("w"), torch::ones(4)));
}

TEST_F(Safetensors, RefusesWhatItCannotWriteAndLeavesTheOldFile) {
  write_safetensors(path(), {{"w", torch::ones(4)}});
  const auto refused = [this](const Tensors& tensors) { return refusal([&] { write_safetensors(path(), tensors); }); };
  EXPECT_THAT(refused({{"w", torch::ones(4)}, {"w", torch::ones(4)}}), HasSubstr("have the name 'w'"));
  EXPECT_THAT(refused({{"w", torch::Tensor()}}), AllOf(HasSubstr("'w'"), HasSubstr("undefined")));
  EXPECT_THAT(refused({{"w", torch::ones(4, torch::kComplexDouble)}}), HasSubstr("no type for ComplexDouble"));
  EXPECT_THAT(refused({{"w", torch::eye(3).to_sparse()}}), HasSubstr("sparse"));
  EXPECT_THAT(refused({{"__metadata__", torch::ones(4)}}), HasSubstr("keeps that name"));
  EXPECT_THAT(refused({{"\xff", torch::ones(4)}}), HasSubstr("UTF-8"));
  EXPECT_TRUE(torch::equal(SafetensorsFile(path()).tensor("w"), torch::ones(4)));
  EXPECT_EQ(files(), 1);
}

TEST_F(Safetensors, NamesTheFileThatCannotBeReadOrWritten) {
  EXPECT_THAT(refusal([&] { SafetensorsFile file(path()); }, ErrorCode::kIo),
              AllOf(HasSubstr("a.safetensors"), HasSubstr("No such file")));
  EXPECT_THAT(refusal([&] { SafetensorsFile file(folder_); }, ErrorCode::kIo), HasSubstr("directory"));
  EXPECT_THAT(refusal(
                  [&] {
                    write_safetensors(folder_ / "no" / "b", {{"w", torch::ones(1)}});
                  },
                  ErrorCode::kIo),
              HasSubstr("No such file"));
}

TEST_F(Safetensors, NamesTheTensorThatItCannotGive) {
  std::string file("\x38\0\0\0\0\0\0\0", 8);
  file += R"({"half":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}} x)";
  file[8 + 56] = 'x';
  write_file_atomically(path(), file.substr(0, 8 + 56 + 1));
  const SafetensorsFile opened(path());
  EXPECT_EQ(opened.dtype("half"), "F4");
  EXPECT_THAT(refusal([&] { opened.tensor("half"); }), AllOf(HasSubstr("'half'"), HasSubstr("F4")));
  EXPECT_THAT(refusal([&] { opened.tensor("other"); }), AllOf(HasSubstr("'other'"), HasSubstr("a.safetensors")));
}

/// "embedding F64 [2,3] = 1 2 3 24 25 26", as expected.tsv has it.
std::string description(const SafetensorsFile& file, const std::string& name) {
  std::ostringstream text;
  text << name << ' ' << file.dtype(name) << " [";
  const auto sizes = file.sizes(name);
  for (std::size_t i = 0; i < sizes.size(); ++i) text << (i > 0 ? "," : "") << sizes[i];
  text << "] =";
  const torch::Tensor values = file.tensor(name).to(torch::kFloat64).flatten();
  for (std::int64_t i = 0; i < values.numel(); ++i) text << ' ' << values[i].item<double>();
  if (values.numel() == 0) text << " (no bytes)";
  return text.str();
}

/// All tensors of a file, in the words of expected.tsv.
std::string description(const SafetensorsFile& file) {
  std::string text;
  for (const std::string& name : file.names()) text += (text.empty() ? "" : "; ") + description(file, name);
  return text.empty() ? "no tensors" : text;
}

TEST(SafetensorsFixtures, LoadOrAreRefusedAsTheReferenceLibraryDoes) {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const fs::path folder = fs::path(data == nullptr ? "" : data) / "safetensors";
  std::ifstream expected(folder / "expected.tsv");
  if (!expected) GTEST_SKIP() << "LOCKSTEP_TEST_DATA has no safetensors/expected.tsv";
  int loaded = 0, refused = 0;
  std::string name, outcome, detail;
  for (std::getline(expected, name);
       std::getline(expected, name, '\t') && std::getline(expected, outcome, '\t') && std::getline(expected, detail);) {
    SCOPED_TRACE(name);
    if (outcome == "refused") {
      EXPECT_THAT(refusal([&] { SafetensorsFile file(folder / name); }), AllOf(HasSubstr(detail), HasSubstr(name)));
      ++refused;
      continue;
    }
    const SafetensorsFile file(folder / name);
    EXPECT_THAT(detail, testing::StartsWith(description(file)));
    if (detail.find("framework=pt") != std::string::npos) {
      EXPECT_THAT(file.metadata(), ElementsAre(Pair("framework", "pt")));
    }
    if (const auto at = detail.find("byte "); at != std::string::npos) {
      EXPECT_EQ(file.header_bytes().size(), std::stoul(detail.substr(at + 5)));
    }
    ++loaded;
  }
  EXPECT_GE(loaded, 14);
  EXPECT_GE(refused, 7);
}

TEST_F(Safetensors, WritesTheBytesThatTheReferenceLibraryWrote) {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const fs::path folder = fs::path(data == nullptr ? "" : data);
  if (!fs::exists(folder / "tiny-bert-1layer")) GTEST_SKIP() << "LOCKSTEP_TEST_DATA has no tiny-bert-1layer";
  for (const char* name : {"safetensors/valid/py-metadata-aligned.safetensors",
                           "safetensors/valid/py-two-tensors-i32-f16-aligned.safetensors",
                           "tiny-bert-1layer/model.safetensors", "tiny-bert-2layer/model.safetensors"}) {
    const SafetensorsFile file(folder / name);
    Tensors tensors;
    for (const std::string& tensor : file.names()) tensors.emplace_back(tensor, file.tensor(tensor));
    write_safetensors(path(), tensors, file.metadata());
    EXPECT_TRUE(read_file(path()) == read_file(folder / name)) << name;
  }
}

}  // namespace
}  // namespace lockstep
