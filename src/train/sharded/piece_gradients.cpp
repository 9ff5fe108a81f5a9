#include "train/sharded/piece_gradients.h"

namespace lockstep {

bool PieceGradients::is_shown(std::size_t i) const {
  const torch::Tensor& shown = gradient(i);
  return !pieces_.empty() && shown.defined() && shown.numel() > 0 && shown.data_ptr() == pieces_[i].data_ptr();
}

void PieceGradients::hide(std::size_t i) {
  hidden_[i] = is_shown(i);
  if (hidden_[i]) gradient(i) = torch::Tensor();
}

void PieceGradients::put_back(std::size_t i) {
  gradient(i) = hidden_[i] ? pieces_[i] : torch::Tensor();
  hidden_[i] = false;
}

void PieceGradients::add(const RegisteredMemory& reduced) {
  allocate();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].numel() == 0) continue;
    auto* from = static_cast<std::byte*>(reduced.data()) + flat_.part(i).begin;
    const auto mean = torch::from_blob(from, pieces_[i].sizes(), pieces_[i].options());
    if (is_shown(i)) {
      pieces_[i].add_(mean);
    } else {
      pieces_[i].copy_(mean);
    }
  }
}

void PieceGradients::allocate() {
  if (!pieces_.empty()) return;
  const auto type = flat_.whole(0).options();
  const auto element = flat_.whole(0).element_size();
  const torch::Tensor all = torch::zeros(static_cast<std::int64_t>(flat_.layout().piece_bytes()) / element, type);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    const auto count = flat_.piece(i).numel();
    pieces_.push_back(all.narrow(0, at, count).detach());  // no view: zero_grad detaches in place
    at += count;
  }
}

void PieceGradients::show(std::size_t i) {
  gradient(i) = !pieces_.empty() && pieces_[i].numel() > 0 ? pieces_[i] : torch::Tensor();
}

torch::Tensor PieceGradients::spread(std::size_t i) const {
  const torch::Tensor& like = flat_.whole(i);
  torch::Tensor whole = torch::empty_strided(like.sizes(), like.strides(), like.options()).zero_();
  auto in_memory_order = whole.as_strided({whole.numel()}, {1});
  in_memory_order.narrow(0, flat_.begin(i), pieces_[i].numel())
      .copy_(pieces_[i] * static_cast<double>(flat_.layout().pieces));
  return whole;
}

}  // namespace lockstep
