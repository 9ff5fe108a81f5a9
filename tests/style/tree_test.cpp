// The rules hold for this repository.
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
      {"group", {"base", "kernels", "schedule", "algorithms", "topology", "transport", "runtime"}},
      {"report", {"base"}},
      {"launch", {"base", "topology"}},
      {"train", {"base", "group"}},
      {"lab", {"base", "report", "topology", "train"}},
      {"cli", {"base", "schedule", "algorithms", "topology", "transport", "launch"}},
  };
  return kArrows;
}

std::vector<SourceFile> cpp_files(const std::vector<std::string>& folders) {
  return read_tree(kRoot, folders, {".h", ".cpp"});
}

TEST(Tree, IncludesPointDown) { EXPECT_THAT(wrong_includes(cpp_files({"src"}), arrows()), IsEmpty()); }

TEST(Tree, TorchStaysAboveComm) {
  EXPECT_THAT(
      torch_includes(cpp_files({"src", "include"}), {"train", "lab"},
                     {"include/lockstep/train.h", "include/lockstep/data_parallel.h", "include/lockstep/loader.h"}),
      IsEmpty());
}

TEST(Tree, RuntimeAndTransportNameNoAlgorithm) {
  std::set<std::string> algorithms;
  for (const SourceFile& file : cpp_files({"src/algorithms"})) {
    const std::string name = std::filesystem::path(file.path).stem().string();
    if (!name.ends_with("_test") && name != "catalog") algorithms.insert(name);
  }
  ASSERT_THAT(algorithms, Not(IsEmpty()));
  EXPECT_THAT(named_algorithms(cpp_files({"src/runtime", "src/transport"}), algorithms), IsEmpty());
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
