#include <fmt/format.h>
#include <lockstep/checkpoint.h>
#include <lockstep/error.h>
#include <lockstep/loader.h>
#include <lockstep/sharded.h>
#include <lockstep/wrapped.h>

#include <charconv>
#include <set>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

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

std::unordered_set<const void*> buffers_in(const torch::nn::Module& module) {
  std::unordered_set<const void*> buffers;
  for (const ModuleTensor& one : buffers_of(module)) buffers.insert(one.tensor.unsafeGetTensorImpl());
  return buffers;
}

/// A parameter is the same on all ranks; a buffer, each rank changes by its own samples.
TensorSlice whole_of(const ModuleTensor& one, const std::unordered_set<const void*>& buffers) {
  TensorSlice slice{one.name, one.tensor.sizes().vec(), 0, one.tensor};
  slice.of_rank_zero = !one.trainable && buffers.count(one.tensor.unsafeGetTensorImpl()) > 0;
  slice.replicated = !slice.of_rank_zero;
  return slice;
}

std::vector<TensorSlice> slices_of(const torch::nn::Module& module) {
  require_whole(module);
  const auto buffers = buffers_in(module);
  std::vector<TensorSlice> slices;
  for (const ModuleTensor& one : tensors_of(module)) {
    if (one.tied_to.empty() && one.tensor.defined()) slices.push_back(whole_of(one, buffers));
  }
  return slices;
}

/// What this rank has of a parameter that is sharded.
TensorSlice slice_of(const ParameterPiece& piece, const std::string& name) {
  if (!piece.row_major) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("The elements of '{}' do not lie in the order of its dimensions (channels_last?), by which "
                            "checkpoints cut them: make it contiguous() before it is sharded.",
                            name));
  }
  torch::Tensor data = piece.values;
  if (!data.defined()) data = torch::empty({0}, torch::TensorOptions(piece.parameter.scalar_type()));
  return {name, piece.shape, piece.begin, data, /*replicated=*/false, piece.is_copy, piece.parameter};
}

std::vector<TensorSlice> slices_of(const Sharded& sharded) {
  std::vector<TensorSlice> slices;
  for (const ParameterPiece& piece : sharded.pieces()) {
    if (sharded.stage() == 0) {
      slices.push_back({piece.name, piece.shape, 0, piece.parameter, /*replicated=*/true});
    } else {
      slices.push_back(slice_of(piece, piece.name));
    }
  }
  return slices;
}

std::vector<TensorSlice> slices_of(const torch::nn::Module& module, Sharded& sharded) {
  if (sharded.stage() == 0) return slices_of(module);
  std::unordered_map<const void*, ParameterPiece> pieces;
  for (ParameterPiece& piece : sharded.checkpoint_pieces())
    pieces.emplace(piece.parameter.unsafeGetTensorImpl(), std::move(piece));
  const auto buffers = buffers_in(module);
  std::vector<TensorSlice> slices;
  for (const ModuleTensor& one : tensors_of(module)) {
    if (!one.tied_to.empty() || !one.tensor.defined()) continue;
    const auto piece = pieces.find(one.tensor.unsafeGetTensorImpl());
    if (piece != pieces.end()) {
      slices.push_back(slice_of(piece->second, one.name));
    } else if (!one.trainable) {
      slices.push_back(whole_of(one, buffers));
    } else {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is trained, and not by the Sharded that TrainingState::module was given: give it "
                              "the module that was attached to that, or a part of it.",
                              one.name));
    }
  }
  return slices;
}

/// "model.fc.weight"
class TensorsPart : public StatePart {
 public:
  TensorsPart(const std::string& name, TrainingState::Slices slices)
      : prefix_(name + "."), slices_(std::move(slices)) {}

  std::string prefix() const override { return prefix_.substr(0, prefix_.size() - 1); }
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

/// The same of what is sharded, of which each rank has its pieces.
class PiecesPart final : public TensorsPart {
 public:
  PiecesPart(const std::string& name, torch::nn::Module& module, Sharded& sharded)
      : TensorsPart(name, [&module, &sharded] { return slices_of(module, sharded); }), sharded_(sharded) {}

  void loaded(const StoredState&) override { sharded_.pieces_loaded(); }

 private:
  Sharded& sharded_;
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

  std::string prefix() const override { return name_; }
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
      : name_(name), epoch_(name + ".epoch"), batch_(name + ".batch"), batches_(name + ".batches"), loader_(loader) {}

  std::string prefix() const override { return name_; }
  StateContent save(int, int) const override {
    const LoaderPosition position = loader_.position();
    StateContent content{{},
                         {{epoch_, std::to_string(position.epoch)},
                          {batch_, std::to_string(position.batch)},
                          {batches_, std::to_string(loader_.batches())}}};
    for (const auto& [what, is] : loader_.order()) content.values[value_of(what)] = is;
    return content;
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
    const std::int64_t batch = number(stored, batch_);
    if (batch > 0 && batch < batches) require_same_order(stored);
    return {};
  }
  void loaded(const StoredState& stored) override {
    loader_.set_position({number(stored, epoch_), number(stored, batch_)});
  }

 private:
  std::string value_of(const std::string& what) const { return name_ + "." + what; }

  /// Checkpoints of earlier versions say nothing of the order.
  void require_same_order(const StoredState& stored) const {
    for (const auto& [what, is] : loader_.order()) {
      const std::string* was = stored.find_value(value_of(what));
      if (was == nullptr || *was == is) continue;
      stored.refuse(fmt::format(
          "it was saved in the middle of an epoch, of which this loader, with {} {} and not {}, would see some samples "
          "twice and others not at all",
          what, is, *was));
    }
  }

  std::string name_, epoch_, batch_, batches_;
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

TrainingState& TrainingState::module(const std::string& name, torch::nn::Module& module, Sharded& sharded) {
  return part(std::make_unique<PiecesPart>(name, module, sharded));
}

TrainingState& TrainingState::tensors(const std::string& name, Slices slices) {
  return part(std::make_unique<TensorsPart>(name, std::move(slices)));
}

TrainingState& TrainingState::optimizer(const std::string& name, torch::optim::Optimizer& optimizer,
                                        torch::nn::Module& names) {
  return this->optimizer(name, optimizer, [&names] { return slices_of(names); });
}

TrainingState& TrainingState::optimizer(const std::string& name, torch::optim::Optimizer& optimizer,
                                        Slices parameters) {
  return part(std::make_unique<OptimizerPart>(name, optimizer, std::move(parameters)));
}

TrainingState& TrainingState::optimizer(const std::string& name, torch::optim::Optimizer& optimizer,
                                        const Sharded& sharded) {
  return this->optimizer(name, optimizer, [&optimizer, &sharded] {
    sharded.cut_state(optimizer);
    return slices_of(sharded);
  });
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
    if (name != other && !lies_in(name, other) && !lies_in(other, name)) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("Two parts of a training's state are called '{}' and '{}', so that the names of their tensors "
                    "could not be told apart: give them names of which none is or begins as another.",
                    other, name));
  }
  names_.push_back(name);
}

TrainingState& TrainingState::part(std::unique_ptr<StatePart> part) {
  if (const std::string prefix = part->prefix(); !prefix.empty()) take_name(prefix);
  parts_.push_back(std::move(part));
  return *this;
}

}  // namespace lockstep
