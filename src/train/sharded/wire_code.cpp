#include "train/sharded/wire_code.h"

namespace lockstep {
namespace {

/// The scales are then a sixteenth of the codes.
constexpr std::int64_t kBlock = 64;

}  // namespace

WireCode::WireCode(GatherAs gather_as, std::int64_t numbers) : numbers_(numbers) {
  if (gather_as == GatherAs::kInt8Blocks) int8_.emplace(numbers, kBlock);
}

std::size_t WireCode::row_bytes() const { return static_cast<std::size_t>(int8_ ? int8_->row_bytes() : numbers_ * 2); }

void WireCode::encode(const torch::Tensor& numbers, const torch::Tensor& row) const {
  if (int8_) {
    row.copy_(int8_->encode(numbers.unsqueeze(0))[0]);
  } else {
    row.view(torch::kBFloat16).copy_(numbers);
  }
}

void WireCode::decode(const torch::Tensor& rows, const torch::Tensor& numbers) const {
  for (std::int64_t r = 0; r < rows.size(0); ++r) {  // one at a time: what decoding takes of memory is then a piece's
    const auto place = numbers.narrow(0, r * numbers_, numbers_);
    place.copy_(int8_ ? int8_->decode(rows.narrow(0, r, 1))[0] : rows[r].view(torch::kBFloat16));
  }
}

}  // namespace lockstep
