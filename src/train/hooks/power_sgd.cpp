#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "train/hooks/hook_base.h"

namespace lockstep {
namespace {

/// Makes the columns of `matrix`, [n, r], orthonormal (modified Gram-Schmidt; what is zero stays so).
void orthonormalise(torch::Tensor matrix) {
  for (std::int64_t i = 0; i < matrix.size(1); ++i) {
    auto column = matrix.select(1, i);
    for (std::int64_t j = 0; j < i; ++j) {
      const auto earlier = matrix.select(1, j);
      column.sub_(earlier * (earlier * column).sum());
    }
    column.div_(column.norm().clamp_min(1e-20));
  }
}

/// Tensors as one flat tensor that is reduced, and back.
torch::Tensor joined(const std::vector<torch::Tensor>& parts) {
  std::vector<torch::Tensor> flat;
  for (const auto& part : parts) flat.push_back(part.flatten());
  return torch::cat(flat);
}
std::vector<torch::Tensor> taken_apart(const torch::Tensor& flat, const std::vector<torch::Tensor>& like) {
  std::vector<torch::Tensor> parts;
  std::int64_t at = 0;
  for (const auto& part : like) {
    parts.push_back(flat.narrow(0, at, part.numel()).view(part.sizes()));
    at += part.numel();
  }
  return parts;
}

/// A bucket's gradients: those that are compressed, as matrices, and those that are not.
struct Parts {
  std::vector<torch::Tensor> matrices;  // gradients, in the bucket
  std::vector<torch::Tensor> others;
};

torch::Tensor as_matrix(const torch::Tensor& gradient) { return gradient.reshape({gradient.size(0), -1}); }

class PowerSgd : public CompressingHook {
 public:
  PowerSgd(const Group& group, std::int64_t rank, std::uint64_t seed)
      : CompressingHook(group), rank_(rank), generator_(at::detail::createCPUGenerator(seed)) {}
  std::string name() const override { return fmt::format("power_sgd({})", rank_); }

 protected:
  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const Parts parts = parts_of(bucket);
    auto& factors = factors_of(bucket, parts);
    std::vector<torch::Tensor> first = parts.others;
    for (std::size_t i = 0; i < parts.matrices.size(); ++i) {
      first.push_back(torch::matmul(as_matrix(parts.matrices[i]), factors[i]));
    }
    if (contribution) *contribution = bucket.flat.clone();
    const auto reduced = joined(first);
    const std::string purpose = purpose_of(bucket, name());
    count_.all_reduce(reduced.nbytes());
    auto pending = mean_in_place(group_, reduced, purpose);
    if (parts.matrices.empty()) {
      return finish_with(std::move(pending), [parts, reduced] { put_back(parts.others, reduced); });
    }
    return continue_with(std::move(pending), count_.timed([=, this, &factors, flat = bucket.flat] {
      put_back(parts.others, reduced);
      return second_half(parts, taken_apart(reduced, first), factors, {flat, contribution, purpose});
    }));
  }

 private:
  struct Whole {
    torch::Tensor flat;
    torch::Tensor* contribution;
    std::string purpose;
  };

  bool gets_smaller(const torch::Tensor& gradient) const {
    if (gradient.dim() < 2 || gradient.numel() == 0) return false;
    const std::int64_t rows = gradient.size(0);
    const std::int64_t columns = gradient.numel() / rows;
    return (rows + columns) * rank_ < rows * columns;
  }

  Parts parts_of(const GradientBucket& bucket) const {
    Parts parts;
    for (const auto& gradient : bucket.gradients) {
      (gets_smaller(gradient) ? parts.matrices : parts.others).push_back(gradient);
    }
    if (bucket.gradients.empty()) parts.others.push_back(bucket.flat);
    return parts;
  }

  torch::Tensor drawn(std::int64_t rows) { return torch::randn({rows, rank_}, generator_, torch::kFloat32); }

  /// Where the power iteration stands, a matrix [columns, rank] for each; drawn when buckets are new.
  std::vector<torch::Tensor>& factors_of(const GradientBucket& bucket, const Parts& parts) {
    auto& [names, factors] = factors_[bucket.index];
    if (names != bucket.parameters) {
      names = bucket.parameters;
      factors.clear();
      for (const auto& gradient : parts.matrices) factors.push_back(drawn(gradient.numel() / gradient.size(0)));
    }
    return factors;
  }

  static void put_back(const std::vector<torch::Tensor>& others, const torch::Tensor& reduced) {
    const auto means = taken_apart(reduced, others);
    for (std::size_t i = 0; i < others.size(); ++i) others[i].copy_(means[i]);
  }

  Pending second_half(const Parts& parts, const std::vector<torch::Tensor>& first, std::vector<torch::Tensor>& factors,
                      const Whole& whole) {
    std::vector<torch::Tensor> bases(first.begin() + static_cast<std::ptrdiff_t>(parts.others.size()), first.end());
    std::vector<torch::Tensor> own;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      orthonormalise(bases[i]);
      own.push_back(torch::matmul(as_matrix(parts.matrices[i]).t(), bases[i]));
      if (!whole.contribution) continue;
      const auto& gradient = parts.matrices[i];
      const auto place = static_cast<const float*>(gradient.data_ptr()) - whole.flat.data_ptr<float>();
      whole.contribution->as_strided(gradient.sizes(), gradient.strides(), place)
          .copy_(torch::matmul(bases[i], own.back().t()).view(gradient.sizes()));
    }
    const auto reduced = joined(own);
    count_.all_reduce(reduced.nbytes());
    return finish_with(mean_in_place(group_, reduced, whole.purpose), count_.timed([=, this, &factors] {
      const auto means = taken_apart(reduced, own);
      for (std::size_t i = 0; i < means.size(); ++i) {
        parts.matrices[i].copy_(torch::matmul(bases[i], means[i].t()).view(parts.matrices[i].sizes()));
        // From nothing, or from what is no number, no iteration gets away.
        const double norm = means[i].norm().item<double>();
        factors[i] = norm > 0 && std::isfinite(norm) ? means[i].clone() : drawn(means[i].size(0));
      }
    }));
  }

  std::int64_t rank_;
  at::Generator generator_;  // the same numbers on all ranks
  std::map<int, std::pair<std::vector<std::string>, std::vector<torch::Tensor>>> factors_;
};

}  // namespace

BucketHookPtr power_sgd_hook(const Group& group, std::int64_t rank, std::uint64_t seed) {
  if (rank < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("power_sgd_hook of rank {}: the factors need at least one column.", rank));
  }
  return std::make_shared<PowerSgd>(group, rank, seed);
}

}  // namespace lockstep
