// Stage 3: blocks whose parameters are whole only while they run.
#include <fmt/format.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <limits>
#include <set>

#include "train/local_gradient.h"
#include "train/replicate.h"
#include "train/sharded/sharder.h"
#include "train/tensor.h"

namespace lockstep::detail {
namespace {

constexpr BucketLimits kOneFlat{std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max()};

/// Whether autograd runs a backward in this thread now.
bool in_backward() { return torch::autograd::get_current_graph_task_exec_info() != nullptr; }

}  // namespace

class Sharder::Block final : public BlockHooks {
 public:
  Block(std::weak_ptr<Sharder> sharder, std::size_t index, std::string name)
      : sharder_(std::move(sharder)), index_(index), name_(std::move(name)) {}

  std::size_t index() const { return index_; }
  void before_forward() override { living()->before_forward(index_); }
  void after_forward(const std::vector<torch::Tensor>& outputs) override {
    bool records_graph = false;
    for (const torch::Tensor& output : outputs) {
      if (!output.defined() || !output.requires_grad()) continue;
      records_graph = true;
      output.register_hook([sharder = sharder_, index = index_](const torch::Tensor&) {
        if (const auto living = sharder.lock()) living->before_backward(index);
      });
    }
    living()->after_forward(index_, records_graph);
  }
  void forward_threw() override { living()->after_forward(index_, false); }
  void require_whole() const override {
    if (living()->schedule_.is_whole(index_)) return;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} cannot be saved or loaded: this rank has only its piece of the parameters. Do so while "
                            "what Sharded::gather() returns is alive.",
                            name_),
                {.rank = living()->group_.rank(), .operation = "Sharded"});
  }

 private:
  std::shared_ptr<Sharder> living() const {
    if (auto sharder = sharder_.lock()) return sharder;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} was used after its Sharded had gone, which has its parameters.", name_));
  }

  std::weak_ptr<Sharder> sharder_;
  std::size_t index_;
  std::string name_;
};

std::vector<ModuleTensor> Sharder::outside_blocks(const std::vector<ModuleTensor>& tensors) const {
  std::vector<ModuleTensor> outside;
  for (const auto& tensor : tensors) {
    if (!owners_.contains(tensor.tensor.unsafeGetTensorImpl())) outside.push_back(tensor);
  }
  return outside;
}

std::optional<std::size_t> Sharder::block_of(const torch::nn::Module& module) {
  const auto* wrapped = dynamic_cast<const WrappedModule*>(&module);
  if (wrapped == nullptr || !wrapped->hooks()) return std::nullopt;
  return static_cast<const Block&>(*wrapped->hooks()).index();
}

void Sharder::find_registered(const torch::nn::Module& module, const std::string& path,
                              std::set<std::size_t> on_the_way, std::vector<Registered>& found) const {
  if (const auto block = block_of(module)) on_the_way.insert(*block);
  for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
    const auto owner = owners_.find(parameter.value().unsafeGetTensorImpl());
    if (owner == owners_.end()) continue;
    found.push_back({path + parameter.key(), owner->first, on_the_way.contains(owner->second)});
  }
  for (const auto& child : module.named_children()) {
    find_registered(*child.value(), path + child.key() + ".", on_the_way, found);
  }
}

void Sharder::require_inside_blocks(const torch::nn::Module& module) const {
  std::vector<Registered> found;
  find_registered(module, "", {}, found);
  for (const Registered& outside : found) {
    if (outside.inside) continue;
    const auto same = std::find_if(found.begin(), found.end(), [&](const Registered& one) {
      return one.inside && one.parameter == outside.parameter;
    });
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is also {} of a block that was wrapped, and outside of that only a piece of it "
                            "would be there: wrap what contains both, and not the block, or leave it unwrapped.",
                            outside.name, same == found.end() ? "a parameter" : fmt::format("'{}'", same->name)),
                {.rank = group_.rank(), .operation = "Sharded"});
  }
}

std::vector<ModuleTensor> Sharder::own_tensors(const torch::nn::Module& block) const {
  std::set<std::size_t> inside;
  for (const auto& module : block.modules(/*include_self=*/false)) {
    if (const auto index = block_of(*module)) inside.insert(*index);
  }
  std::vector<ModuleTensor> own;
  for (const auto& tensor : tensors_of(block)) {
    const auto owner = owners_.find(tensor.tensor.unsafeGetTensorImpl());
    if (owner == owners_.end()) {
      own.push_back(tensor);
    } else if (!inside.contains(owner->second)) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' of {} is shared with a block that was wrapped before: wrap what contains both.",
                              tensor.name, block.name()),
                  {.rank = group_.rank(), .operation = "Sharded"});
    }
  }
  require_inside_blocks(block);
  return own;
}

std::shared_ptr<BlockHooks> Sharder::wrap(const torch::nn::Module& block) {
  if (options_.stage < 3) return nullptr;
  if (attached_) throw Error(ErrorCode::kInvalidArgument, "wrap() comes before attach(), which takes what is left.");
  const auto own = own_tensors(block);
  std::vector<std::pair<std::string, std::string>> things;
  for (const auto& tensor : own) things.emplace_back(block.name() + ": " + tensor.name, tensor.description());
  require_equal(group_, things);
  broadcast_values(group_, own);

  std::set<const void*> parameters;
  for (const auto& parameter : block.parameters()) parameters.insert(parameter.unsafeGetTensorImpl());
  std::vector<ModuleTensor> trained;
  std::vector<ModuleTensor> fixed;
  const std::size_t index = schedule_.size();
  for (const auto& tensor : own) {
    const void* identity = tensor.tensor.unsafeGetTensorImpl();
    if (!tensor.tied_to.empty() || !parameters.contains(identity)) continue;
    owners_[identity] = index;
    (tensor.trainable ? trained : fixed).push_back(tensor);
  }
  if (!trained.empty()) trained = trainable_of(trained, "Sharded");
  for (const ModuleTensor& tensor : fixed) {
    if (data_type_of(tensor.tensor.scalar_type())) continue;
    throw Error(ErrorCode::kUnsupported,
                fmt::format("Parameter '{}' of block '{}' has the type {}, which cannot be gathered: leave it out of "
                            "what is wrapped.",
                            tensor.name, block.name(), c10::toString(tensor.tensor.scalar_type())),
                {.rank = group_.rank(), .operation = "Sharded"});
  }

  std::vector<ShardedFlat*> trained_flats;
  std::vector<ShardedFlat*> fixed_flats;
  for (const std::size_t flat : add_flats(trained, kOneFlat, Keep::kPiece)) {
    block_of_flat_[flat] = index;
    trained_flats.push_back(flats_[flat].get());
  }
  for (const FlatLayout& layout : flat_layouts(fixed, kOneFlat, groups_.shards.size())) {
    fixed_.push_back(std::make_unique<ShardedFlat>(groups_.shards, pool_, layout, fixed,
                                                   FlatOptions(Keep::kPiece, options_.gather_as, wires_)));
    fixed_.back()->log_gathers(gathers_, -1);
    fixed_flats.push_back(fixed_.back().get());
  }
  for (auto* flats : {&trained_flats, &fixed_flats}) {
    for (ShardedFlat* flat : *flats) {
      flat->store();
      flat->release();
    }
  }
  schedule_.add(trained_flats, fixed_flats);
  flats_of_block_.push_back(trained_flats);
  flats_of_block_.back().insert(flats_of_block_.back().end(), fixed_flats.begin(), fixed_flats.end());
  const std::string name = fmt::format("Block {} ({})", index, block.name());
  for (ShardedFlat* flat : flats_of_block_.back()) flat->set_block(name);
  return std::make_shared<Block>(weak_from_this(), index, name);
}

void Sharder::take_names(const std::vector<ModuleTensor>& tensors) {
  std::unordered_map<const void*, std::size_t> index_of;
  for (std::size_t i = 0; i < parameters_.size(); ++i) index_of[parameters_[i].tensor.unsafeGetTensorImpl()] = i;
  for (const auto& tensor : tensors) {
    const auto found = index_of.find(tensor.tensor.unsafeGetTensorImpl());
    if (found == index_of.end() || !tensor.tied_to.empty()) continue;
    const std::size_t i = found->second;
    module_order_.push_back(i);
    parameters_[i].name = tensor.name;
    if (!flats_.empty()) flats_[places_[i].flat]->rename(places_[i].slot, tensor.name);
  }
  if (module_order_.size() == parameters_.size()) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("attach() was given a module that has {} of the {} parameters that were wrapped or are in it: "
                  "register every wrapped block in it.",
                  module_order_.size(), parameters_.size()));
}

void Sharder::name_blocks(const torch::nn::Module& module) {
  for (const auto& named : module.named_modules("", /*include_self=*/false)) {
    const auto index = block_of(*named.value());
    if (!index) continue;
    for (ShardedFlat* flat : flats_of_block_[*index]) flat->set_block(named.key());
  }
}

void Sharder::before_forward(std::size_t block) {
  const bool records_graph = torch::GradMode::is_enabled();
  // Computed once more, for a backward that needs it, where it may be what comes first.
  if (records_graph && in_backward()) open_backward();
  if (!backward_.expired()) {
    schedule_.before_recompute(block);
    return;
  }
  gathers_.enter(records_graph ? kForwardPhase : "");
  schedule_.before_forward(block, records_graph);
}

void Sharder::after_forward(std::size_t block, bool records_graph) {
  if (backward_.expired()) schedule_.after_forward(block, records_graph);
}

void Sharder::before_backward(std::size_t block) {
  if (torch::GradMode::is_enabled()) {
    throw Error(
        ErrorCode::kUnsupported,
        "Sharded stage 3 cannot differentiate through a backward (create_graph): the second backward would find "
        "blocks freed. Use stage 2.",
        {.rank = group_.rank(), .operation = "Sharded"});
  }
  torch::NoGradGuard no_grad;
  open_backward();
  schedule_.before_backward(block);
}

void Sharder::open_backward() {
  if (!backward_.expired()) return;
  const auto open = std::make_shared<OpenBackward>();
  backward_ = open;
  gathers_.enter(kBackwardPhase);
  schedule_.begin_backward();
  at_end_of_backward([self = weak_from_this(), open] {
    if (const auto sharder = self.lock()) {
      sharder->backward_.reset();
      sharder->schedule_.end_backward();
      sharder->gathers_.enter("");
      if (open->run) sharder->finish(*open->run);
    }
  });
}

void Sharder::throw_fault() {
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
}

void Sharder::hold_whole() {
  throw_fault();
  if (holders_ == 0) {
    gathers_.enter("");
    pool_bytes_before_hold_ = pool_->bytes();
    schedule_.hold_whole(true);
    gather_wholes(/*exact=*/true);
  }
  ++holders_;  // not if it threw
}

void Sharder::let_go() noexcept {
  if (--holders_ > 0) return;
  try {
    gathers_.enter("");
    schedule_.hold_whole(false);
    pool_->trim(pool_bytes_before_hold_);
    for (const auto& flat : flats_) {
      if (flat->keep() == Keep::kWhole) flat->store();
    }
    gather_wholes(/*exact=*/false);
  } catch (const Error&) {
    fault_ = std::current_exception();  // thrown by what is called next
  }
}

}  // namespace lockstep::detail
