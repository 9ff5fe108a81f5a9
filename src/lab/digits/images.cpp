#include "lab/digits/images.h"

#include "lab/digits/idx_file.h"
#include "lab/input_file.h"
#include "lab/require.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 28;

fs::path find(const fs::path& folder, const std::string& name) {
  const fs::path packed = folder / (name + ".gz");
  return fs::exists(packed) ? packed : folder / name;
}

}  // namespace

Images::Images(const fs::path& folder, const std::string& part) {
  const InputFile images(find(folder, part + "-images-idx3-ubyte")), labels(find(folder, part + "-labels-idx1-ubyte"));
  pixels_ = read_idx(images.path(), 3);
  if (pixels_.size(1) != kSide || pixels_.size(2) != kSide) {
    images.refuse(fmt::format("its images are {} x {}; it takes 28 x 28.", pixels_.size(1), pixels_.size(2)));
  }
  labels_ = read_idx(labels.path(), 1).to(torch::kInt64);
  if (labels_.size(0) != pixels_.size(0)) {
    labels.refuse(fmt::format("it has {} labels for {} images.", labels_.size(0), pixels_.size(0)));
  }
  if (labels_.max().item<std::int64_t>() > 9) {
    labels.refuse(fmt::format("it has a label {}; digits are 0 to 9.", labels_.max().item<std::int64_t>()));
  }
}

Images Images::share_by_label(int rank, int ranks) const {
  require(size() % ranks == 0,
          fmt::format("--partition by-label gives each rank as many digits as the others, and {} of them cannot be cut "
                      "so for {} ranks: start a number of ranks that divides them.",
                      size(), ranks));
  std::vector<std::int64_t> order(static_cast<std::size_t>(size()));
  std::iota(order.begin(), order.end(), 0);
  const auto* const label = labels_.data_ptr<std::int64_t>();
  std::stable_sort(order.begin(), order.end(), [label](std::int64_t a, std::int64_t b) { return label[a] < label[b]; });
  const std::int64_t share = size() / ranks;
  const torch::Tensor own = torch::tensor(order, torch::kInt64).narrow(0, rank * share, share);
  return {pixels_.index_select(0, own), labels_.index_select(0, own)};
}

torch::data::Example<> Images::fetch(const std::vector<std::size_t>& indices) const {
  constexpr double kMean = 0.1307, kDeviation = 0.3081;  // of the training part, as 0 to 1
  const std::vector<std::int64_t> rows(indices.begin(), indices.end());
  const torch::Tensor chosen = torch::tensor(rows, torch::kInt64);
  const torch::Tensor pixels = pixels_.index_select(0, chosen).unsqueeze(1).to(torch::kFloat32);
  return {(pixels / 255 - kMean) / kDeviation, labels_.index_select(0, chosen)};
}

}  // namespace lockstep::lab
