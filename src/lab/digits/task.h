#pragma once

#include "lab/classifier/task.h"
#include "lab/digits/images.h"
#include "lab/digits/options.h"

#include <torch/nn/modules/container/sequential.h>

#include <filesystem>
#include <memory>
#include <string>

namespace lockstep::lab {

/// A small convolutional network on MNIST.
class DigitsTask : public ClassifierTask {
 public:
  /// Reads the input. Throws Error (kInvalidArgument) with the file and what is wrong.
  explicit DigitsTask(DigitsOptions options);

  const ClassifierOptions& options() const override { return options_.common; }
  nlohmann::json settings() const override { return options_.settings; }
  RunRecord describe() const override;
  std::string announcement() const override;
  std::int64_t examples() const override { return training_->size(); }

  std::shared_ptr<torch::nn::Module> make_model(const Group& group, Sharded& sharded) override;
  std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Sharded& sharded) override;
  torch::Tensor logits(const Batch& batch) override { return net_->forward(batch.data); }
  std::unique_ptr<Loader> training_loader(const Group& group, std::int64_t batch) override;
  std::unique_ptr<Loader> evaluation_loader(const Group& group) override;
  /// Running statistics that each rank has of its own samples become their mean.
  void before_evaluation(const Group& group) override;
  /// model.safetensors.
  void save(const std::filesystem::path& folder) const override;

 private:
  DigitsOptions options_;
  std::shared_ptr<const Images> training_;
  std::shared_ptr<const Images> evaluation_;
  torch::nn::Sequential net_ = nullptr;
};

}  // namespace lockstep::lab
