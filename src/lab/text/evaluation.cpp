#include "lab/text/evaluation.h"

#include "lab/text/data.h"

#include <torch/utils.h>

#include <algorithm>

namespace lockstep::lab {

double mean_loss(const Group& group, Gpt& model, const std::vector<std::int32_t>& tokens,
                 const std::vector<std::int64_t>& starts) {
  constexpr std::int64_t kWindowsAtOnce = 16;
  const torch::NoGradGuard no_grad;
  model->eval();
  const Slice share = slice_of(static_cast<std::int64_t>(starts.size()), group.rank(), group.size());
  double sum = 0;
  for (std::int64_t begin = share.begin; begin < share.end; begin += kWindowsAtOnce) {
    const std::int64_t end = std::min(begin + kWindowsAtOnce, share.end);
    const TextBatch batch = windows_at(tokens, {starts.begin() + begin, starts.begin() + end}, model->size().context);
    sum += model->loss(batch.tokens, batch.targets).item<double>() * static_cast<double>(end - begin);
  }
  model->train();
  group.all_reduce(buffer_of(&sum, 1), ReduceOp::kSum, {.purpose = "validation loss"}).wait();
  return sum / static_cast<double>(starts.size());
}

}  // namespace lockstep::lab
