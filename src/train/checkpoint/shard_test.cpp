#include "train/checkpoint/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <lockstep/safetensors.h>
#include <torch/torch.h>

#include "tests/processes/temporary_folder.h"
#include "train/checkpoint/checksum.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

TensorSlice replicated(const std::string& name, const torch::Tensor& tensor) {
  return {name, tensor.sizes().vec(), 0, tensor, true};
}

TEST(Pieces, OfReplicatedTensorsAreEachWrittenOnceAndInEqualShares) {
  const std::vector<TensorSlice> slices{replicated("a", torch::arange(1000.).to(torch::kFloat64)),
                                        replicated("b", torch::arange(7)), replicated("scalar", torch::tensor(3)),
                                        replicated("none", torch::zeros({0, 2})),
                                        replicated("c", torch::arange(999).to(torch::kInt8).reshape({27, 37}))};
  for (const int ranks : {1, 2, 3, 4, 7}) {
    std::map<std::string, std::int64_t> next;
    for (int rank = 0; rank < ranks; ++rank) {
      std::int64_t bytes = 0;
      for (const Piece& piece : pieces_of(slices, rank, ranks)) {
        EXPECT_EQ(piece.begin, next[piece.tensor]) << piece.tensor;
        next[piece.tensor] += piece.data.numel();
        bytes += static_cast<std::int64_t>(piece.data.nbytes());
      }
      EXPECT_NEAR(static_cast<double>(bytes), (8000 + 56 + 8 + 999) / static_cast<double>(ranks), 16)
          << rank << " of " << ranks;
    }
    for (const TensorSlice& slice : slices) EXPECT_EQ(next.at(slice.name), slice.data.numel()) << slice.name;
  }
}

TEST(Pieces, OfASliceAreItsOwn) {
  const auto pieces =
      pieces_of({{"w", {10}, 4, torch::arange(3), false}, {"v", {10}, 0, torch::arange(0), false}}, 1, 2);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].begin, 4);
  EXPECT_TRUE(torch::equal(pieces[0].data, torch::arange(3)));
}

TEST(Pieces, ThatAnotherRankHasTooAreNotWritten) {
  EXPECT_TRUE(pieces_of({{"w", {10}, 4, torch::arange(3), false, /*is_copy=*/true}}, 1, 2).empty());
}

TEST(Pieces, OfWhatIsRankZerosAreWrittenWholeByIt) {
  TensorSlice slice{"mean", {7}, 0, torch::arange(7)};
  slice.of_rank_zero = true;
  const std::vector<TensorSlice> slices{replicated("a", torch::arange(90)), slice};
  for (const int ranks : {1, 2, 4}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto pieces = pieces_of(slices, rank, ranks);
      ASSERT_EQ(pieces.size(), rank == 0 ? 2u : 1u);
      EXPECT_NEAR(static_cast<double>(pieces[0].data.numel()), 90.0 / ranks, 1);
      EXPECT_EQ(pieces.back().data.numel(), rank == 0 ? 7 : pieces[0].data.numel());
    }
  }
}

TEST(Pieces, BeyondTheirTensorAreRefused) {
  EXPECT_THROW(pieces_of({{"w", {10}, 8, torch::arange(3), false}}, 0, 1), Error);
  EXPECT_THROW(pieces_of({{"w", {10}, -1, torch::arange(3), false}}, 0, 1), Error);
  EXPECT_THROW(pieces_of({{"w", {10}, 0, torch::arange(3), true}}, 0, 1), Error) << "replicated, but not whole";
  TensorSlice part{"w", {10}, 0, torch::arange(3)};
  part.of_rank_zero = true;
  EXPECT_THROW(pieces_of({part}, 0, 1), Error);
}

class Shard : public testing_support::TemporaryFolder {};

TEST_F(Shard, IsASafetensorsFileThatSaysWhatItHolds) {
  const torch::Tensor whole = torch::arange(6, torch::kFloat32).reshape({2, 3});
  const auto record =
      write_shard(folder_, "s", {{"whole", {2, 3}, 0, whole.flatten()}, {"part", {100}, 7, torch::arange(5)}});
  EXPECT_EQ(record.bytes, std::filesystem::file_size(folder_ / "s"));
  const SafetensorsFile file(folder_ / "s");
  EXPECT_EQ(record.header_checksum, checksum(file.header_bytes()));
  EXPECT_TRUE(torch::equal(file.tensor("whole"), whole));
  EXPECT_TRUE(torch::equal(file.tensor("part[7:12]"), torch::arange(5)));
  const auto pieces = parse_pieces(file.metadata(), "s");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].tensor, "part");
  EXPECT_THAT(pieces[1].shape, ElementsAre(100));
  EXPECT_EQ(pieces[1].begin, 7);
  EXPECT_EQ(pieces[1].end, 12);
  EXPECT_EQ(pieces[1].checksum, checksum(file.bytes("part[7:12]")));
}

TEST_F(Shard, OfAnotherProgramIsRefused) {
  EXPECT_THROW(parse_pieces({{"format", "pt"}}, "s"), Error);
  EXPECT_THROW(parse_pieces({{"format", "lockstep shard 1"}, {"pieces", "[{}]"}}, "s"), Error);
}

}  // namespace
}  // namespace lockstep
