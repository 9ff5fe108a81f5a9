#include <fmt/format.h>
#include <lockstep/sync_batch_norm.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>

namespace lockstep {
namespace {

using torch::nn::Module;

/// The options of a BatchNorm of any dimension; null if `module` is none.
const torch::nn::BatchNormOptions* batch_norm_options(Module& module) {
  if (auto* norm = module.as<torch::nn::BatchNorm1dImpl>()) return &norm->options;
  if (auto* norm = module.as<torch::nn::BatchNorm2dImpl>()) return &norm->options;
  if (auto* norm = module.as<torch::nn::BatchNorm3dImpl>()) return &norm->options;
  return nullptr;
}

void require_replaceable(Module& parent, const std::string& path) {
  const bool is_sequential = parent.as<torch::nn::SequentialImpl>() != nullptr;
  for (const auto& child : parent.named_children()) {
    const std::string child_path = path.empty() ? child.key() : path + "." + child.key();
    if (!is_sequential && batch_norm_options(*child.value())) {
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("convert_sync_batch_norm cannot replace '{}': it is a member of a module of your own, not "
                      "of a Sequential. Declare that member a lockstep::SyncBatchNorm.",
                      child_path));
    }
    require_replaceable(*child.value(), child_path);
  }
}

int replace_below(Module& parent, const Group& group) {
  int replaced = 0;
  auto* sequential = parent.as<torch::nn::SequentialImpl>();
  std::size_t place = 0;
  for (const auto& child : parent.named_children()) {
    const auto* options = sequential ? batch_norm_options(*child.value()) : nullptr;
    if (options) {
      SyncBatchNorm next(group, *options, *child.value());
      sequential->replace_module(child.key(), next.ptr());
      *(sequential->begin() + static_cast<std::ptrdiff_t>(place)) = torch::nn::AnyModule(next);
      ++replaced;
    } else {
      replaced += replace_below(*child.value(), group);
    }
    ++place;
  }
  return replaced;
}

}  // namespace

int convert_sync_batch_norm(Module& root, const Group& group) {
  if (batch_norm_options(root)) {
    throw Error(ErrorCode::kUnsupported,
                "convert_sync_batch_norm was given a BatchNorm itself, which nothing holds: make a "
                "lockstep::SyncBatchNorm instead.");
  }
  require_replaceable(root, "");
  return replace_below(root, group);
}

}  // namespace lockstep
