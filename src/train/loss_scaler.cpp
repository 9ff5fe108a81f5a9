#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/mixed_precision.h>
#include <lockstep/sharded.h>

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "train/non_finite.h"

namespace lockstep {

/// "scaler.scale"
class LossScaler::State final : public StatePart {
 public:
  State(std::string name, LossScaler& scaler) : name_(std::move(name)), scaler_(scaler) {}

  std::string prefix() const override { return name_; }
  StateContent save(int, int) const override {
    LossScaler now = scaler_;
    if (now.unscaled_ && !now.finite_) now.skip();  // as the next loss would have it
    return {{},
            {{name_ + ".scale", fmt::format("{}", now.scale_)},
             {name_ + ".good_updates", std::to_string(now.good_updates_)},
             {name_ + ".skipped", std::to_string(now.skipped_)}}};
  }

  std::vector<TensorSlice> targets(const StoredState& stored, int, int) override {
    loading_ = {scaler_.scale_, scaler_.good_updates_, scaler_.skipped_};
    if (stored.find_value(name_ + ".scale") == nullptr) return {};
    loading_ = {number<double>(stored, ".scale"), number<int>(stored, ".good_updates"),
                number<int>(stored, ".skipped")};
    return {};
  }

  void loaded(const StoredState&) override {
    scaler_.scale_ = loading_.scale;
    scaler_.good_updates_ = loading_.good_updates;
    scaler_.skipped_ = loading_.skipped;
    scaler_.unscaled_ = false;
  }

 private:
  struct Loading {
    double scale = 0;
    int good_updates = 0;
    int skipped = 0;
  };

  template <class Number>
  Number number(const StoredState& stored, const char* what) const {
    const std::string& text = stored.value(name_ + what);
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);  // whatever the locale
    if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) ||
        std::isinf(static_cast<double>(number)))
      stored.refuse(fmt::format("its '{}{}' is '{}', which no LossScaler has", name_, what, text));
    return number;
  }

  std::string name_;
  LossScaler& scaler_;
  Loading loading_;
};

std::unique_ptr<StatePart> LossScaler::state(const std::string& name) { return std::make_unique<State>(name, *this); }

LossScaler::LossScaler(LossScalerOptions options) : options_(options), scale_(options.scale) {
  const bool settles = std::isfinite(options.scale) && options.scale > 0 && options.growth >= 1 &&
                       options.growth_interval >= 1 && options.backoff > 0 && options.backoff < 1;
  if (settles) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("LossScaler with scale {}, growth {} after {} updates, backoff {}: the scale must be positive, "
                  "growth at least 1 after at least 1 update, and backoff between 0 and 1.",
                  options.scale, options.growth, options.growth_interval, options.backoff));
}

torch::Tensor LossScaler::scale(const torch::Tensor& loss) {
  if (std::exchange(unscaled_, false) && !finite_) skip();
  return loss * scale_;
}

LossScaler::Found LossScaler::divide(torch::optim::Optimizer& optimizer) const {
  torch::NoGradGuard no_grad;
  Found found;
  for (const auto& group : optimizer.param_groups()) {
    for (const auto& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      found.any = true;
      // Of a sparse one, what an update will take: values of the same place are added first.
      const auto gradient = parameter.grad().is_sparse() ? parameter.grad().coalesce() : parameter.grad();
      found.finite = found.finite && !has_non_finite(gradient.is_sparse() ? gradient.values() : gradient);
      if (!found.finite) continue;
      parameter.mutable_grad() = gradient;
      gradient.mul_(1 / scale_);
    }
  }
  return found;
}

bool LossScaler::unscale(torch::optim::Optimizer& optimizer) {
  if (std::exchange(unscaled_, true)) return finite_;
  const Found found = divide(optimizer);
  finite_ = found.finite && found.any;
  return finite_;
}

bool LossScaler::unscale(torch::optim::Optimizer& optimizer, const Sharded& shard) {
  if (std::exchange(unscaled_, true)) return finite_;
  const Found found = divide(optimizer);
  std::vector<std::uint8_t> on_any_rank{found.any, !found.finite};
  shard.group().all_reduce(buffer_of(on_any_rank), ReduceOp::kMax, {.purpose = "whether gradients are finite"}).wait();
  finite_ = on_any_rank[0] != 0 && on_any_rank[1] == 0;
  return finite_;
}

bool LossScaler::step(torch::optim::Optimizer& optimizer) {
  return take(unscale(optimizer), [&] { optimizer.step(); });
}

bool LossScaler::step(torch::optim::Optimizer& optimizer, Sharded& shard) {
  return take(unscale(optimizer, shard), [&] { shard.step(optimizer); });
}

bool LossScaler::take(bool finite, const std::function<void()>& step) {
  unscaled_ = false;
  if (!finite) {
    skip();
    return false;
  }
  step();
  if (++good_updates_ == options_.growth_interval) {
    scale_ *= options_.growth;
    good_updates_ = 0;
  }
  return true;
}

void LossScaler::skip() {
  scale_ *= options_.backoff;
  good_updates_ = 0;
  ++skipped_;
}

}  // namespace lockstep
