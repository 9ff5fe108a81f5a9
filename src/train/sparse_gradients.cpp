#include "train/sparse_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "train/local_gradient.h"
#include "train/non_finite.h"
#include "train/reached.h"
#include "train/tensor.h"

namespace lockstep {

std::vector<ModuleTensor> take_sparse(std::vector<ModuleTensor>& parameters, const std::vector<std::string>& names) {
  for (const auto& name : names) {
    const auto found =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == name; });
    if (found == parameters.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("sparse_parameters names '{}', which is no parameter that requires a gradient.", name),
                  {.operation = "DataParallel"});
    }
    found->sparse = true;
  }
  const auto dense =
      std::stable_partition(parameters.begin(), parameters.end(), [](const auto& p) { return !p.sparse; });
  std::vector<ModuleTensor> sparse(std::make_move_iterator(dense), std::make_move_iterator(parameters.end()));
  parameters.erase(dense, parameters.end());
  return sparse;
}

void SparseGradients::adopt(std::vector<ModuleTensor> parameters) {
  parameters_ = std::move(parameters);
  reached_here_.assign(parameters_.size(), kNotReached);
  reached_.assign(parameters_.size(), kNotReached);
}

torch::Tensor SparseGradients::weighted(std::size_t parameter, const torch::Tensor& gradient, double factor) const {
  if (gradient.is_sparse() && gradient.sparse_dim() == 1) {
    return factor == 1 ? torch::Tensor() : counting(gradient, factor);
  }
  throw Error(ErrorCode::kUnsupported,
              fmt::format("Parameter '{}' was to have sparse gradients, and has one that is not: a weight that another "
                          "layer uses too needs an embedding with sparse(false).",
                          parameters_[parameter].name),
              {.rank = group_.rank(), .operation = "DataParallel"});
}

void SparseGradients::note(std::size_t parameter, bool look) {
  torch::NoGradGuard no_grad;
  // Of what is there now: what an earlier backward under pause() left may have been dropped since.
  const bool bad = look && has_non_finite(parameters_[parameter].tensor.grad()._values());
  reached_here_[parameter] = bad ? non_finite_on(group_.rank()) : kReached;
}

std::size_t SparseGradients::reduce() {
  if (parameters_.empty()) return 0;
  // A row a rank: of each parameter whether it was reached, and rows of its gradient.
  const std::size_t width = 2 * parameters_.size();
  std::vector<std::int64_t> said(width * static_cast<std::size_t>(group_.size()));
  std::vector<torch::Tensor> own;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& gradient = parameters_[i].tensor.grad();
    own.push_back(gradient.defined() ? gradient.coalesce() : gradient);
    const std::size_t at = width * static_cast<std::size_t>(group_.rank()) + 2 * i;
    said[at] = gradient.defined() ? reached_here_[i] : kNotReached;
    said[at + 1] = gradient.defined() ? own[i]._nnz() : 0;
  }
  group_.all_gather(buffer_of(said), {.purpose = "sizes of sparse gradients"}).wait();

  std::size_t bytes = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    reached_[i] = kNotReached;
    std::vector<std::int64_t> rows;
    for (std::size_t at = 2 * i; at < said.size(); at += width) {
      reached_[i] = std::max(reached_[i], static_cast<std::uint8_t>(said[at]));
      rows.push_back(said[at + 1]);
    }
    reached_here_[i] = kNotReached;
    if (reached_[i] != kNotReached) bytes += reduce(i, own[i], rows);
  }
  return bytes;
}

std::size_t SparseGradients::reduce(std::size_t parameter, const torch::Tensor& own,
                                    const std::vector<std::int64_t>& rows) const {
  const ModuleTensor& whose = parameters_[parameter];
  auto shape = whose.tensor.sizes().vec();
  shape[0] = 0;
  const bool has_rows = own.defined() && own._nnz() > 0;
  const auto indices = has_rows ? own.indices()[0] : torch::empty({0}, torch::kInt64);
  const auto values = has_rows ? own.values() : torch::empty(shape, whose.tensor.options().requires_grad(false));
  const auto all_indices = gathered(indices, rows, "indices of the gradient of " + whose.name);
  const auto all_values = gathered(values, rows, "rows of the gradient of " + whose.name);
  whose.tensor.mutable_grad() =
      torch::sparse_coo_tensor(all_indices.unsqueeze(0), all_values / group_.size(), whose.tensor.sizes()).coalesce();
  return indices.nbytes() + values.nbytes();
}

torch::Tensor SparseGradients::gathered(const torch::Tensor& own, const std::vector<std::int64_t>& rows,
                                        const std::string& what) const {
  auto shape = own.sizes().vec();
  shape[0] = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  auto all = torch::empty(shape, own.options());
  const std::int64_t before = std::accumulate(rows.begin(), rows.begin() + group_.rank(), std::int64_t{0});
  all.narrow(0, before, own.size(0)).copy_(own);
  const std::int64_t row =
      std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, [](auto a, auto b) { return a * b; });
  std::vector<std::size_t> counts;
  for (const std::int64_t n : rows) counts.push_back(static_cast<std::size_t>(n * row));
  group_.all_gather_v(buffer_of(all), counts, {.purpose = what}).wait();
  return all;
}

std::vector<std::string> SparseGradients::not_reduced() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_here_[i] != kNotReached && is_not_zero(parameters_[i].tensor.grad())) {
      names.push_back(parameters_[i].name);
    }
  }
  return names;
}

std::vector<std::string> SparseGradients::unreached() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_[i] == kNotReached) names.push_back(parameters_[i].name);
  }
  return names;
}

std::vector<NonFiniteGradient> SparseGradients::non_finite() const {
  std::vector<NonFiniteGradient> found;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_[i] >= kNonFiniteOnRankZero) found.push_back({parameters_[i].name, reached_[i] - kNonFiniteOnRankZero});
  }
  return found;
}

}  // namespace lockstep
