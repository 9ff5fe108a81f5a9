#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

#include <optional>
#include <vector>

#include "train/sharded/sharded_flat.h"

namespace lockstep {

/// The gradients of this rank's piece of a flat. Between backward passes each parameter's `.grad` is its part of them:
/// optimizers and zero_grad find it there. A parameter of which this rank has no part has no `.grad`.
class PieceGradients {
 public:
  explicit PieceGradients(ShardedFlat& flat) : flat_(flat), hidden_(flat.size()) {}

  ShardedFlat& flat() const { return flat_; }
  /// `.grad` of parameter i is its part here: already reduced.
  bool is_shown(std::size_t i) const;
  /// Autograd is about to accumulate into `.grad`, of the whole parameter: takes the piece out of its way...
  void hide(std::size_t i);
  /// ...and puts it back; without one, `.grad` is undefined.
  void put_back(std::size_t i);
  /// Adds this rank's piece of a reduced flat to what is shown; what is not shown becomes it.
  void add(const RegisteredMemory& reduced);
  /// `.grad` of parameter i is its part from here on.
  void show(std::size_t i);
  /// A whole gradient whose mean over ranks is the one shown, if every rank makes its own: this rank's part times the
  /// number of ranks, and zero elsewhere.
  torch::Tensor spread(std::size_t i) const;

  /// What reducing them takes is predicted to be this.
  void set_predicted_ms(std::optional<double> predicted) { predicted_ms_ = predicted; }
  std::optional<double> predicted_ms() const { return predicted_ms_; }

 private:
  torch::Tensor& gradient(std::size_t i) const { return flat_.parameter(i).tensor.mutable_grad(); }
  void allocate();

  ShardedFlat& flat_;
  std::vector<torch::Tensor> pieces_;  // empty until the first gradient is reduced
  std::vector<bool> hidden_;
  std::optional<double> predicted_ms_;
};

}  // namespace lockstep
