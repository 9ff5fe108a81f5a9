#pragma once

#include <torch/torch.h>

/// What these programs learn: points of a square; is one in the circle?
struct Circle : torch::data::datasets::Dataset<Circle> {
  explicit Circle(std::int64_t count = 4096) : points(torch::rand({count, 2}) * 2 - 1) {}
  torch::data::Example<> get(std::size_t i) override {
    auto point = points[static_cast<std::int64_t>(i)];
    return {point, point.norm().lt(0.8).to(torch::kInt64)};
  }
  torch::optional<std::size_t> size() const override { return points.size(0); }
  torch::Tensor points;
};
