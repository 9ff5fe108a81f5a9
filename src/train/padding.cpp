#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/padding.h>
#include <torch/types.h>

#include <sstream>

namespace lockstep {
namespace {

std::string text(at::IntArrayRef sizes) {
  std::ostringstream stream;
  stream << sizes;
  return stream.str();
}

torch::Tensor padded(const std::vector<torch::Tensor>& tensors, double value, const char* what) {
  const torch::Tensor& first = tensors.at(0);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dim() > 0 && tensors[i].sizes().slice(1) == first.sizes().slice(1)) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("The {} of sample {} of a batch has the shape {}, that of sample 0 {}: Pad needs shapes that "
                    "differ in the first dimension only, the length.",
                    what, i, text(tensors[i].sizes()), text(first.sizes())));
  }
  return at::pad_sequence(tensors, /*batch_first=*/true, value);
}

}  // namespace

torch::data::Example<> Pad::apply_batch(std::vector<torch::data::Example<>> examples) {
  std::vector<torch::Tensor> data;
  std::vector<torch::Tensor> targets;
  for (auto& example : examples) {
    data.push_back(std::move(example.data));
    targets.push_back(std::move(example.target));
  }
  const bool scalars = targets.at(0).dim() == 0;
  return {padded(data, value_, "data"), scalars ? torch::stack(targets) : padded(targets, target_value_, "target")};
}

torch::Tensor padding_mask(const torch::Tensor& lengths) {
  if (!lengths.defined()) {
    throw Error(ErrorCode::kInvalidArgument,
                "padding_mask was given no lengths: a batch has them where its loader has, so make that with "
                "LoaderOptions::lengths, the length of each sample of the dataset.");
  }
  if (lengths.dim() != 1 || lengths.numel() == 0 ||
      !c10::isIntegralType(lengths.scalar_type(), /*includeBool=*/false)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("padding_mask was given lengths of type {} and shape {}: it takes one whole number for each "
                    "sample, and at least one, as the lengths of a Batch are.",
                    c10::toString(lengths.scalar_type()), text(lengths.sizes())));
  }
  const auto positions = torch::arange(lengths.max().item<std::int64_t>(), lengths.options());
  return positions.unsqueeze(0) >= lengths.unsqueeze(1);
}

}  // namespace lockstep
