// The rules hold for this repository.
#include "algorithms/catalog.h"
#include "tests/style/rules.h"

#include <gmock/gmock.h>

#include <fstream>

namespace lockstep::style {
namespace {

using testing::IsEmpty;
using testing::Not;

const std::filesystem::path kRoot = LOCKSTEP_SOURCE_DIR;

/// Down only; docs/design/layers.md says why each arrow is there.
const LayerArrows& arrows() {
  static const LayerArrows kArrows = {
      {"base", {}},
      {"kernels", {"base"}},
      {"schedule", {"base"}},
      {"algorithms", {"base", "schedule"}},
      {"topology", {"base"}},
      {"transport", {"base", "topology"}},
      {"runtime", {"base", "kernels", "schedule", "transport"}},
      {"planner", {"base", "schedule", "algorithms", "topology", "transport", "runtime"}},
      {"group", {"base", "kernels", "schedule", "algorithms", "topology", "planner", "transport", "runtime"}},
      {"report", {"base"}},
      {"launch", {"base", "topology"}},
      {"bench", {"base", "kernels", "schedule", "algorithms", "topology", "planner", "group"}},
      {"study", {"base", "schedule", "algorithms", "topology", "planner", "report", "launch", "bench"}},
      {"train", {"base", "group"}},
      {"lab", {"base", "report", "topology", "train"}},
      {"cli",
       {"base", "schedule", "algorithms", "topology", "planner", "transport", "launch", "bench", "report", "study"}},
  };
  return kArrows;
}

std::vector<SourceFile> cpp_files(const std::vector<std::string>& folders) {
  return read_tree(kRoot, folders, {".h", ".cpp"});
}

/// A test may look down from anywhere, and name what it tries.
std::vector<SourceFile> without_tests(std::vector<SourceFile> files) {
  std::erase_if(files, [](const SourceFile& file) { return file.path.find("_test") != std::string::npos; });
  return files;
}

TEST(Tree, IncludesPointDown) { EXPECT_THAT(wrong_includes(without_tests(cpp_files({"src"})), arrows()), IsEmpty()); }

/// The folders of a layer as if they were layers, with what they include of each other and nothing else.
std::vector<SourceFile> folders_of(const std::string& layer) {
  std::vector<SourceFile> files = without_tests(cpp_files({"src/" + layer}));
  const std::string own_include = "#include \"" + layer + "/";
  for (SourceFile& file : files) {
    file.path.erase(4, layer.size() + 1);
    for (std::string& line : file.lines) {
      line = line.starts_with(own_include) ? "#include \"" + line.substr(own_include.size()) : "";
    }
  }
  return files;
}

TEST(Tree, FoldersOfThePlannerPointDown) {
  EXPECT_THAT(wrong_includes(folders_of("planner"), {{"network", {}},
                                                     {"one_host", {"network"}},
                                                     {"selection", {"one_host"}},
                                                     {"calibration", {"one_host", "selection"}},
                                                     {"pricing", {"network", "calibration"}}}),
              IsEmpty());
  EXPECT_THAT(wrong_includes(folders_of("planner"), {{"network", {}}}), Not(IsEmpty())) << "it reads them";
}

TEST(Tree, TorchStaysAboveComm) {
  EXPECT_THAT(
      torch_includes(cpp_files({"src", "include"}), {"train", "lab"},
                     {"include/lockstep/checkpoint.h", "include/lockstep/data_parallel.h", "include/lockstep/hooks.h",
                      "include/lockstep/invariant.h", "include/lockstep/loader.h", "include/lockstep/local_sgd.h",
                      "include/lockstep/mirrored.h", "include/lockstep/mixed_precision.h",
                      "include/lockstep/one_bit_adam.h", "include/lockstep/optim.h", "include/lockstep/padding.h",
                      "include/lockstep/safetensors.h", "include/lockstep/sharded.h",
                      "include/lockstep/sync_batch_norm.h", "include/lockstep/train.h", "include/lockstep/wrapped.h"}),
      IsEmpty());
}

TEST(Tree, RuntimeAndTransportNameNoAlgorithm) {
  std::set<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace(algorithm.name);
  ASSERT_THAT(names, Not(IsEmpty()));
  names.emplace("hierarchical");  // what is composed of them
  EXPECT_THAT(named_algorithms(without_tests(cpp_files({"src/runtime", "src/transport"})), names), IsEmpty());
}

TEST(Tree, FilesAreShort) {
  std::vector<SourceFile> files = read_tree(kRoot, {"src", "include", "tests", "cmake", "scripts"},
                                            {".h", ".cpp", ".cmake", ".sh", ".awk", ".txt"});
  EXPECT_THAT(long_files(files, 450), IsEmpty());
}

TEST(Tree, NothingIsMarkedUnfinished) {
  EXPECT_THAT(unfinished_marks(read_tree(kRoot, {"src", "include", "tests", "cmake", "scripts", "docs"},
                                         {".h", ".cpp", ".cmake", ".sh", ".awk", ".txt", ".md"})),
              IsEmpty());
}

TEST(Tree, SourcesHaveTestsBesideThem) {
  std::map<std::string, std::string> without;
  std::ifstream list(kRoot / "tests/style/without_test.txt");
  ASSERT_TRUE(list);
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(": ");
    without[line.substr(0, colon)] = colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  EXPECT_THAT(untested_sources(cpp_files({"src"}), without), IsEmpty());
}

}  // namespace
}  // namespace lockstep::style
