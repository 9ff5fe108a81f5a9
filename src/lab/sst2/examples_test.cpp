#include "lab/sst2/examples.h"

#include "lab/sst2/test_sst2.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::ElementsAre;

class Sst2Examples : public Sst2Test {
 protected:
  Examples examples(std::int64_t max_tokens) const {
    const WordPiece wordpiece(folder_ / "data" / "vocab.txt");
    return {{{"the film is good", 1}, {"bad", 0}, {"very poor film", 0}}, wordpiece, max_tokens};
  }
  static std::vector<std::int64_t> row(const torch::Tensor& tokens, std::int64_t index) {
    const torch::Tensor one = tokens[index].contiguous();
    return {one.data_ptr<std::int64_t>(), one.data_ptr<std::int64_t>() + one.numel()};
  }
};

TEST_F(Sst2Examples, ArePaddedToTheLongestOfTheBatch) {
  const Examples all = examples(16);
  EXPECT_THAT(all.lengths(), ElementsAre(6, 3, 5));
  const auto batch = all.fetch({1, 0});
  EXPECT_THAT(row(batch.data, 0), ElementsAre(2, 5, 3, 0, 0, 0));
  EXPECT_THAT(row(batch.data, 1), ElementsAre(2, 8, 9, 10, 4, 3));
  EXPECT_EQ(batch.target[0].item<int>(), 0);
  EXPECT_EQ(batch.target[1].item<int>(), 1);
  EXPECT_EQ(all.fetch({1}).data.size(1), 3);
}

TEST_F(Sst2Examples, ThatAreTooLongKeepTheirEnd) {
  const Examples all = examples(4);
  EXPECT_EQ(all.cut(), 2);
  EXPECT_THAT(row(all.fetch({0}).data, 0), ElementsAre(2, 8, 9, 3));
}

TEST_F(Sst2Examples, AreSortedWithTheirLabels) {
  Examples all = examples(16);
  all.sort_by_length();
  EXPECT_THAT(all.lengths(), ElementsAre(3, 5, 6));
  EXPECT_EQ(all.fetch({2}).target[0].item<int>(), 1);
}

}  // namespace lockstep::lab
