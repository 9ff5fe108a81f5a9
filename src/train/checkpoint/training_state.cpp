#include <fmt/format.h>
#include <lockstep/checkpoint.h>
#include <lockstep/error.h>
#include <lockstep/loader.h>
#include <lockstep/sharded.h>
#include <lockstep/wrapped.h>

#include <charconv>
#include <set>
#include <system_error>

#include "train/checkpoint/optimizer_part.h"
#include "train/checkpoint/random_part.h"
#include "train/module_tensors.h"

namespace lockstep {

namespace {

/// Throws Error (kInvalidArgument) where blocks that are sharded hold this rank's pieces now.
void require_whole(const torch::nn::Module& module) {
  const auto require = [](const torch::nn::Module& one) {
    const auto* const wrapped = dynamic_cast<const detail::WrappedModule*>(&one);
    if (wrapped != nullptr && wrapped->hooks()) wrapped->hooks()->require_whole();
  };
  require(module);
  for (const auto& child : module.modules(/*include_self=*/false)) require(*child);
}

std::vector<TensorSlice> slices_of(const torch::nn::Module& module) {
  require_whole(module);
  std::vector<TensorSlice> slices;
  for (const ModuleTensor& one : tensors_of(module)) {
    if (one.tied_to.empty() && one.tensor.defined())
      slices.push_back({one.name, one.tensor.sizes().vec(), 0, one.tensor, /*replicated=*/true});
  }
  return slices;
}

std::vector<TensorSlice> slices_of(const Sharded& sharded) {
  const bool whole = sharded.stage() == 0;
  std::vector<TensorSlice> slices;
  for (const ParameterPiece& piece : sharded.pieces()) {
    if (!whole && !piece.row_major) {
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("The elements of '{}' do not lie in the order of its dimensions (channels_last?), by which "
                      "checkpoints cut them: make it contiguous() before it is sharded.",
                      piece.name));
    }
    torch::Tensor data = whole ? piece.parameter : piece.values;
    if (!data.defined()) data = torch::empty({0}, torch::TensorOptions(piece.parameter.scalar_type()));
    slices.push_back({piece.name, piece.shape, whole ? 0 : piece.begin, data, whole, piece.is_copy, piece.parameter});
  }
  return slices;
}

/// "model.fc.weight"
class TensorsPart final : public StatePart {
 public:
  TensorsPart(const std::string& name, TrainingState::Slices slices)
      : prefix_(name + "."), slices_(std::move(slices)) {}

  StateContent save(int, int) const override { return {named(), {}}; }

  std::vector<TensorSlice> targets(const StoredState& stored, int, int) override {
    auto targets = named();
    std::set<std::string> known;
    for (const TensorSlice& target : targets) known.insert(target.name);
    for (const std::string& name : stored.names(prefix_)) {
      if (known.count(name) == 0) stored.refuse(fmt::format("it holds '{}', and there is no such tensor here", name));
    }
    return targets;
  }

  void loaded(const StoredState&) override {}

 private:
  std::vector<TensorSlice> named() const {
    auto slices = slices_();
    for (TensorSlice& slice : slices) slice.name = prefix_ + slice.name;
    return slices;
  }

  std::string prefix_;
  TrainingState::Slices slices_;
};

std::int64_t number(const StoredState& stored, const std::string& name) {
  const std::string& text = stored.value(name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    stored.refuse(fmt::format("its '{}' is '{}', which is no number", name, text));
  return number;
}

class CounterPart final : public StatePart {
 public:
  CounterPart(std::string name, std::int64_t& value) : name_(std::move(name)), value_(value) {}

  StateContent save(int, int) const override { return {{}, {{name_, std::to_string(value_)}}}; }
  std::vector<TensorSlice> targets(const StoredState& stored, int, int) override {
    number(stored, name_);
    return {};
  }
  void loaded(const StoredState& stored) override { value_ = number(stored, name_); }

 private:
  std::string name_;
  std::int64_t& value_;
};

class LoaderPart final : public StatePart {
 public:
  LoaderPart(const std::string& name, Loader& loader)
      : epoch_(name + ".epoch"), batch_(name + ".batch"), batches_(name + ".batches"), loader_(loader) {}

  StateContent save(int, int) const override {
    const LoaderPosition position = loader_.position();
    return {{},
            {{epoch_, std::to_string(position.epoch)},
             {batch_, std::to_string(position.batch)},
             {batches_, std::to_string(loader_.batches())}}};
  }
  std::vector<TensorSlice> targets(const StoredState& stored, int, int) override {
    const std::int64_t batches = number(stored, batches_);
    if (batches != loader_.batches()) {
      stored.refuse(
          fmt::format("its loader had {} batches an epoch, and this one has {}: the data set or the global "
                      "batch is another",
                      batches, loader_.batches()));
    }
    number(stored, epoch_);
    number(stored, batch_);
    return {};
  }
  void loaded(const StoredState& stored) override {
    loader_.set_position({number(stored, epoch_), number(stored, batch_)});
  }

 private:
  std::string epoch_, batch_, batches_;
  Loader& loader_;
};

}  // namespace

TrainingState::TrainingState() = default;
TrainingState::~TrainingState() = default;
TrainingState::TrainingState(TrainingState&&) noexcept = default;
TrainingState& TrainingState::operator=(TrainingState&&) noexcept = default;

TrainingState& TrainingState::module(const std::string& name, torch::nn::Module& module) {
  return tensors(name, [&module] { return slices_of(module); });
}

TrainingState& TrainingState::tensors(const std::string& name, Slices slices) {
  take_name(name);
  return part(std::make_unique<TensorsPart>(name, std::move(slices)));
}

TrainingState& TrainingState::optimizer(const std::string& name, torch::optim::Optimizer& optimizer,
                                        torch::nn::Module& names) {
  return this->optimizer(name, optimizer, [&names] { return slices_of(names); });
}

TrainingState& TrainingState::optimizer(const std::string& name, torch::optim::Optimizer& optimizer,
                                        Slices parameters) {
  take_name(name);
  return part(std::make_unique<OptimizerPart>(name, optimizer, std::move(parameters)));
}

TrainingState& TrainingState::optimizer(const std::string& name, torch::optim::Optimizer& optimizer,
                                        const Sharded& sharded) {
  return this->optimizer(name, optimizer, [&sharded] { return slices_of(sharded); });
}

TrainingState& TrainingState::loader(const std::string& name, Loader& loader) {
  return part(std::make_unique<LoaderPart>(name, loader));
}

TrainingState& TrainingState::random(const std::string& name) { return part(std::make_unique<RandomPart>(name)); }

TrainingState& TrainingState::counter(const std::string& name, std::int64_t& value) {
  return part(std::make_unique<CounterPart>(name, value));
}

void TrainingState::take_name(const std::string& name) {
  const auto lies_in = [](const std::string& part, const std::string& whole) {
    return part.rfind(whole + ".", 0) == 0;
  };
  for (const std::string& other : names_) {
    if (!lies_in(name, other) && !lies_in(other, name)) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("Two parts of a training's state are called '{}' and '{}', so that the names of their tensors "
                    "could not be told apart: give them names of which none begins as another.",
                    other, name));
  }
  names_.push_back(name);
}

TrainingState& TrainingState::part(std::unique_ptr<StatePart> part) {
  parts_.push_back(std::move(part));
  return *this;
}

}  // namespace lockstep
