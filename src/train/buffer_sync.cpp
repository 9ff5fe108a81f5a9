#include "train/buffer_sync.h"

#include <cstring>

#include "train/local_gradient.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

void broadcast(const Group& group, const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> parts;
  for (const auto& tensor : tensors) parts.push_back(tensor.contiguous());
  std::size_t bytes = 0;
  for (const auto& part : parts) bytes += part.nbytes();
  std::vector<std::uint8_t> message(bytes);
  std::size_t at = 0;
  for (const auto& part : parts) {
    std::memcpy(message.data() + at, part.data_ptr(), part.nbytes());
    at += part.nbytes();
  }
  group.broadcast(buffer_of(message), 0, {.purpose = "buffers"}).wait();
  at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::memcpy(parts[i].data_ptr(), message.data() + at, parts[i].nbytes());
    if (!parts[i].is_same(tensors[i])) tensors[i].copy_(parts[i]);
    at += parts[i].nbytes();
  }
}

void average(const Group& group, const std::vector<torch::Tensor>& tensors, double factor) {
  std::vector<torch::Tensor> parts;
  for (const auto& tensor : tensors) parts.push_back(tensor.flatten().to(torch::kFloat64));
  const auto sums = counting(torch::cat(parts), factor);
  group.all_reduce(buffer_of(sums), ReduceOp::kMean, {.purpose = "mean of buffers"}).wait();
  std::int64_t at = 0;
  for (const auto& tensor : tensors) {
    tensor.copy_(sums.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

}  // namespace

void synchronise_buffers(const Group& group, const std::vector<ModuleTensor>& buffers, BufferSync how, double factor) {
  if (how == BufferSync::kOnce || group.size() == 1) return;
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> averaged;
  std::vector<torch::Tensor> broadcasted;
  for (const ModuleTensor& buffer : buffers) {
    const bool is_mean = how == BufferSync::kMean && buffer.tensor.is_floating_point();
    (is_mean ? averaged : broadcasted).push_back(buffer.tensor);
  }
  if (!averaged.empty()) average(group, averaged, factor);
  if (!broadcasted.empty()) broadcast(group, broadcasted);
}

}  // namespace lockstep
