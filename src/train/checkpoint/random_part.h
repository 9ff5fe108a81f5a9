#pragma once

#include <lockstep/checkpoint.h>

#include <string>
#include <vector>

namespace lockstep {

/// The state of torch's generator on the host: one row a rank.
class RandomPart final : public StatePart {
 public:
  explicit RandomPart(std::string name) : name_(std::move(name)) {}

  std::string prefix() const override { return name_; }
  StateContent save(int rank, int ranks) const override;
  std::vector<TensorSlice> targets(const StoredState& stored, int rank, int ranks) override;
  void loaded(const StoredState& stored) override;

 private:
  std::string name_;
  torch::Tensor row_;          ///< what was read
  std::uint64_t further_ = 0;  ///< not 0: this rank is beyond those that saved
};

}  // namespace lockstep
