#include "lab/digits/images.h"

#include "lab/digits/test_digits.h"

#include <gmock/gmock.h>
#include <torch/utils.h>

#include <map>

namespace lockstep::lab {

using testing::HasSubstr;

class ImagesTest : public DigitsTest {
 protected:
  std::string refused() const {
    return refusal_of([&] { const Images images(folder_ / "data", "t10k"); });
  }
  /// Of images that all have another brightest point: that, and the label.
  static std::map<double, std::int64_t> by_brightness(const Images& images) {
    std::vector<std::size_t> all(static_cast<std::size_t>(images.size()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const auto fetched = images.fetch(all);
    std::map<double, std::int64_t> labels;
    for (std::int64_t i = 0; i < images.size(); ++i) {
      labels[fetched.data[i].max().item<double>()] = fetched.target[i].item<std::int64_t>();
    }
    return labels;
  }
};

TEST_F(ImagesTest, AreNormalisedAndHaveTheirLabels) {
  const Images images(folder_ / "data", "t10k");
  EXPECT_EQ(images.size(), 23);
  const auto batch = images.fetch({1, 0});
  EXPECT_EQ(batch.data.sizes(), torch::IntArrayRef({2, 1, 28, 28}));
  EXPECT_EQ(batch.target[0].item<int>(), 7);
  EXPECT_NEAR(batch.data[1][0][27][27].item<double>(), (0 - 0.1307) / 0.3081, 1e-6);
  EXPECT_NEAR(batch.data[1][0][4][0].item<double>(), (200.0 / 255 - 0.1307) / 0.3081, 1e-6);
}

TEST_F(ImagesTest, AreCutByLabelIntoSharesThatAreTogetherAllOfThem) {
  write_part("train", 40);  // four of each digit
  const Images all(folder_ / "data", "train");
  const auto expected = by_brightness(all);
  ASSERT_EQ(expected.size(), 40U);
  for (const int ranks : {1, 2, 4, 5, 8, 40}) {
    std::map<double, std::int64_t> found;
    for (int rank = 0; rank < ranks; ++rank) {
      const Images share = all.share_by_label(rank, ranks);
      ASSERT_EQ(share.size(), 40 / ranks);
      for (std::int64_t i = 0; i < share.size(); ++i) {
        EXPECT_EQ(share.labels()[i].item<std::int64_t>(), (rank * share.size() + i) / 4) << rank << " of " << ranks;
      }
      found.merge(by_brightness(share));
    }
    EXPECT_EQ(found, expected) << ranks << " ranks";  // 40 of 40 are each there once
  }
  EXPECT_THAT(refusal_of([&] { all.share_by_label(0, 3); }),
              HasSubstr("as many digits as the others, and 40 of them cannot be cut so for 3 ranks"));
}

TEST_F(ImagesTest, ThatDoNotFitAreRefusedByName) {
  write("data/t10k-labels-idx1-ubyte", idx({2}, std::string("\x01\x02", 2)));
  EXPECT_THAT(refused(), HasSubstr("t10k-labels-idx1-ubyte: it has 2 labels for 23 images"));
  write("data/t10k-labels-idx1-ubyte", idx({23}, std::string(23, '\x0a')));
  EXPECT_THAT(refused(), HasSubstr("it has a label 10; digits are 0 to 9"));
  write("data/t10k-images-idx3-ubyte", idx({1, 4, 7}, std::string(28, '\x01')));
  EXPECT_THAT(refused(), HasSubstr("t10k-images-idx3-ubyte: its images are 4 x 7; it takes 28 x 28"));
  std::filesystem::remove(folder_ / "data" / "t10k-images-idx3-ubyte");
  EXPECT_THAT(refused(), HasSubstr("t10k-images-idx3-ubyte: it cannot be read"));
}

}  // namespace lockstep::lab
