#include "lab/digits/task.h"

#include "base/units.h"
#include "lab/classifier/weight_decay.h"
#include "lab/digits/network.h"
#include "lab/require.h"
#include "lab/together.h"

#include <fmt/format.h>
#include <lockstep/safetensors.h>
#include <lockstep/world.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <utility>
#include <vector>

namespace lockstep::lab {

namespace {

std::unique_ptr<Loader> loader_of(const Group& group, std::shared_ptr<const Images> images, LoaderOptions options) {
  const auto size = static_cast<std::size_t>(images->size());
  const auto fetch = [images = std::move(images)](const std::vector<std::size_t>& indices) {
    return images->fetch(indices);
  };
  return std::make_unique<Loader>(group, size, fetch, options);
}

}  // namespace

DigitsTask::DigitsTask(DigitsOptions options)
    : options_(std::move(options)),
      training_(std::make_shared<Images>(options_.settings.data, "train")),
      evaluation_(std::make_shared<Images>(options_.settings.data, "t10k")) {}

RunRecord DigitsTask::describe() const {
  RunRecord run;
  run.title = fmt::format("digits: convolutional network, {} normalisation", options_.settings.norm);
  run.item = "images";
  return run;
}

std::string DigitsTask::announcement() const {
  return fmt::format("{} images to learn from{}, {} to judge by; learning rate {:.3g}",
                     format_count(static_cast<std::uint64_t>(training_->size())),
                     options_.settings.partition == "by-label" ? " (each rank from other digits)" : "",
                     format_count(static_cast<std::uint64_t>(evaluation_->size())),
                     options_.common.recipe.learning_rate);
}

std::shared_ptr<torch::nn::Module> DigitsTask::make_model(const Group& group, Sharded& /*sharded*/) {
  net_ = digits_network(options_.settings.norm, options_.settings.norm_linear, group);
  return net_.ptr();
}

std::unique_ptr<torch::optim::Optimizer> DigitsTask::make_optimizer(const Sharded& sharded) {
  constexpr double kMomentum = 0.9;
  const Recipe& recipe = options_.common.recipe;
  const auto options = torch::optim::SGDOptions(recipe.learning_rate).momentum(kMomentum);
  return std::make_unique<torch::optim::SGD>(decaying_groups(sharded, options, recipe.weight_decay), options);
}

std::unique_ptr<Loader> DigitsTask::training_loader(const Group& group, std::int64_t batch) {
  LoaderOptions options{.global_batch = batch, .seed = options_.common.recipe.seed, .workers = 1};
  if (options_.settings.partition == "shuffled") return loader_of(group, training_, options);
  std::shared_ptr<const Images> own;
  together(group, [&] {
    own = std::make_shared<const Images>(training_->share_by_label(group.rank(), group.size()));
    require(batch % group.size() == 0,
            fmt::format("--partition by-label takes as many digits of each rank, and a batch (or a part of it, by "
                        "--accumulate) of {} cannot be cut so for {} ranks: give another --batch.",
                        batch, group.size()));
  });
  // The same places of each share, in the same order: together a batch of all.
  options.global_batch = batch / group.size();
  return loader_of(World::alone(), std::move(own), options);
}

std::unique_ptr<Loader> DigitsTask::evaluation_loader(const Group& group) {
  constexpr std::int64_t kBatch = 500;
  return loader_of(group, evaluation_, {.global_batch = kBatch, .shuffle = false});
}

void DigitsTask::before_evaluation(const Group& group) {
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& buffer : net_->buffers()) {
    if (!buffer.is_floating_point()) continue;
    const auto size = static_cast<std::size_t>(buffer.numel());
    group.all_reduce(buffer_of(buffer.data_ptr<float>(), size), ReduceOp::kMean, {.purpose = "running statistics"})
        .wait();
  }
}

void DigitsTask::save(const std::filesystem::path& folder) const {
  std::filesystem::create_directories(folder);
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto& parameter : net_->named_parameters()) {
    tensors.emplace_back(parameter.key(), parameter.value().detach());
  }
  for (const auto& buffer : net_->named_buffers()) tensors.emplace_back(buffer.key(), buffer.value());
  write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
}

}  // namespace lockstep::lab
