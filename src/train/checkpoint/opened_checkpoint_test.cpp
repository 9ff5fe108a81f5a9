// What happened to a checkpoint on the disk is said in one sentence, on every rank, and an older one is taken.
#include "train/checkpoint/opened_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/world.h>

#include <mutex>

#include "base/atomic_file.h"
#include "tests/processes/temporary_folder.h"
#include "train/checkpoint/test_training.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::on_ranks;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// Two checkpoints that two ranks saved, the newer of which is damaged.
class Damaged : public testing_support::TemporaryFolder {
 protected:
  Damaged() {
    on_ranks(2, [&](World& world) {
      Checkpoints checkpoints(world, folder_);
      checkpoints.save(1, state(1));
      checkpoints.save(2, state(2));
    });
  }
  TrainingState state(double value) {
    TrainingState state;
    state.tensors("model", [value] {
      return std::vector<TensorSlice>{{"first", {3, 5}, 0, torch::full({3, 5}, value), true},
                                      {"second", {40}, 0, torch::full({40}, value), true}};
    });
    return state;
  }
  fs::path newest(const std::string& file) const { return folder_ / "iteration-00000002" / file; }
  fs::path shard(int rank) const { return newest(shard_name(rank, 2)); }

  /// Loads on three ranks, each of which must be told the same, and must have got the older one. Returns what.
  std::string passed_over() {
    std::mutex mutex;
    std::vector<std::string> said;
    on_ranks(3, [&](World& world) {
      const torch::Tensor first = torch::zeros({3, 5}), second = torch::zeros({40});
      TrainingState targets;
      targets.tensors("model", [&] {
        return std::vector<TensorSlice>{{"first", {3, 5}, 0, first}, {"second", {40}, 0, second}};
      });
      Checkpoints checkpoints(world, folder_);
      EXPECT_EQ(checkpoints.load(targets), 1);
      EXPECT_TRUE(torch::equal(first, torch::ones({3, 5})));
      const std::lock_guard lock(mutex);
      EXPECT_THAT(checkpoints.passed_over(), SizeIs(1));
      said.push_back(checkpoints.passed_over().at(0));
    });
    EXPECT_THAT(said, Each(said.at(0)));
    EXPECT_THAT(said.at(0), HasSubstr("Rank "));
    return said.at(0);
  }
};

TEST_F(Damaged, AMissingShard) {
  fs::remove(shard(1));
  EXPECT_THAT(passed_over(), AllOf(HasSubstr("shard-00001-of-00002"), HasSubstr("No such file")));
}

TEST_F(Damaged, AShardCutShort) {
  const std::string whole = read_file(shard(0));
  write_file_atomically(shard(0), std::string_view(whole).substr(0, whole.size() - 1));
  EXPECT_THAT(passed_over(), AllOf(HasSubstr("shard-00000-of-00002"), HasSubstr("were written")));
}

TEST_F(Damaged, ABitFlippedInATensor) {
  std::string whole = read_file(shard(1));
  whole.back() = static_cast<char>(whole.back() ^ 4);
  write_file_atomically(shard(1), whole);
  EXPECT_THAT(passed_over(), AllOf(HasSubstr("Rank 1: "), HasSubstr("shard-00001-of-00002"),
                                   HasSubstr("checksum of tensor 'model.second")));
}

TEST_F(Damaged, ShardsSwapped) {
  const std::string a = read_file(shard(0)), b = read_file(shard(1));
  write_file_atomically(shard(0), b);
  write_file_atomically(shard(1), a);
  EXPECT_THAT(passed_over(), AllOf(HasSubstr("shard-00000-of-00002"), HasSubstr("is damaged")));
}

TEST_F(Damaged, AShardOfAnotherCheckpoint) {
  write_file_atomically(shard(0), read_file(folder_ / "iteration-00000001" / shard_name(0, 2)));
  EXPECT_THAT(passed_over(), AllOf(HasSubstr("shard-00000-of-00002"), HasSubstr("swapped for another file")));
}

TEST_F(Damaged, AManifestMissingOrDamaged) {
  std::string text = read_file(newest(kManifestFile));
  text[text.find("\"bytes\": ") + 9] ^= 1;
  write_file_atomically(newest(kManifestFile), text);
  EXPECT_THAT(passed_over(), AllOf(HasSubstr("manifest.json"), HasSubstr("damaged")));
  fs::remove(newest(kManifestFile));
  EXPECT_THAT(passed_over(), AllOf(HasSubstr("manifest.json"), HasSubstr("No such file")));
}

TEST_F(Damaged, EveryBitOfAShardIsNoticed) {
  const std::string whole = read_file(shard(1));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    write_file_atomically(shard(1), damaged);
    EXPECT_THROW(OpenedCheckpoint(newest("").parent_path()).verify(1), Error) << "byte " << at;
  }
}

TEST_F(Damaged, AllOfThem) {
  for (const char* iteration : {"iteration-00000001", "iteration-00000002"})
    fs::remove(folder_ / iteration / kManifestFile);
  on_ranks(2, [&](World& world) {
    TrainingState none;
    EXPECT_THAT(error_of([&] { Checkpoints(world, folder_).load(none); }),
                AllOf(HasSubstr("(2 tried)"), HasSubstr("iteration-00000002/manifest.json")));
  });
}

TEST_F(Damaged, OrOfAnotherModelChangesNothing) {
  on_ranks(2, [&](World& world) {
    Checkpoints checkpoints(world, folder_);
    const torch::Tensor first = torch::zeros({3, 5});
    const auto refusal = [&](std::vector<TensorSlice> slices) {
      slices.insert(slices.begin(), {"first", {3, 5}, 0, first});
      TrainingState targets;
      targets.tensors("model", [&] { return slices; });
      return error_of([&] { checkpoints.load(targets); });
    };
    EXPECT_THAT(refusal({}), AllOf(HasSubstr("'model.second'"), HasSubstr("no such tensor here")));
    EXPECT_THAT(
        refusal({{"second", {41}, 0, torch::zeros(41)}}),
        AllOf(HasSubstr("iteration-00000002"), HasSubstr("'model.second' is Float [40] in it and Float [41] here")));
    EXPECT_THAT(refusal({{"second", {40}, 0, torch::zeros(40, torch::kFloat64)}}), HasSubstr("Double [40] here"));
    EXPECT_THAT(refusal({{"second", {40}, 0, torch::zeros(40)}, {"third", {1}, 0, torch::zeros(1)}}),
                HasSubstr("holds no tensor 'model.third'"));
    // What differs on one rank only is known to both.
    EXPECT_THAT(refusal({{"second", {40}, world.rank() == 1 ? 41 : 0, torch::zeros(world.rank() == 1 ? 1 : 40)}}),
                AllOf(HasSubstr("Rank 1: "), HasSubstr("from 41 on are missing")));
    EXPECT_TRUE(torch::equal(first, torch::zeros({3, 5})));
    EXPECT_THAT(checkpoints.passed_over(), ElementsAre());
  });
}

}  // namespace
}  // namespace lockstep
