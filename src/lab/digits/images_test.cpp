#include "lab/digits/images.h"

#include "lab/digits/test_digits.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

class ImagesTest : public DigitsTest {
 protected:
  std::string refused() const {
    return refusal_of([&] { const Images images(folder_ / "data", "t10k"); });
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
