#include <lockstep/sharded.h>

#include "train/local_gradient.h"
#include "train/sharded/sharder.h"

namespace lockstep {

double predicted_bytes_per_parameter(int stage, int ranks) {
  const double n = ranks;
  switch (stage) {
    case 0: return 16;
    case 1: return 8 + 8 / n;
    case 2: return 4 + 12 / n;
    default: return 16 / n;
  }
}

Sharded::Sharded(const Group& group, torch::nn::Module& module, ShardedOptions options)
    : Sharded(group, std::move(options)) {
  attach(module);
}
Sharded::Sharded(const Group& group, ShardedOptions options)
    : sharder_(std::make_shared<detail::Sharder>(group, std::move(options))) {}
Sharded::~Sharded() = default;
Sharded::Sharded(Sharded&&) noexcept = default;
Sharded& Sharded::operator=(Sharded&&) noexcept = default;

std::shared_ptr<detail::BlockHooks> Sharded::adopt(const torch::nn::Module& block) { return sharder_->wrap(block); }
void Sharded::attach(torch::nn::Module& module) { sharder_->attach(module); }
Sharded::Whole Sharded::gather() {
  sharder_->hold_whole();
  return Whole({nullptr, [sharder = sharder_](void*) { sharder->let_go(); }});
}
void Sharded::step(torch::optim::Optimizer& optimizer) { sharder_->step(optimizer); }
double Sharded::clip_grad_norm(double max_norm) { return sharder_->clip_grad_norm(max_norm); }
void Sharded::samples(std::int64_t count) { agree_on_samples(sharder_->group(), count); }
Sharded::Pause Sharded::pause() { return Pause(sharder_->pause()); }
std::size_t Sharded::registered_bytes() const { return sharder_->registered_bytes(); }
const Group& Sharded::group() const { return sharder_->group(); }
std::size_t Sharded::buffer_bytes() const { return sharder_->buffer_bytes(); }
int Sharded::stage() const { return sharder_->stage(); }
std::vector<ParameterPiece> Sharded::pieces() const { return sharder_->pieces(); }
std::vector<ParameterPiece> Sharded::checkpoint_pieces() { return sharder_->checkpoint_pieces(); }
void Sharded::pieces_loaded() { sharder_->pieces_loaded(); }
void Sharded::cut_state(torch::optim::Optimizer& optimizer) const { sharder_->cut_eager_state(optimizer); }
const SyncReport& Sharded::report() const { return sharder_->report(); }
std::vector<std::string> Sharded::parameters_without_gradient() const { return sharder_->unreached(); }

}  // namespace lockstep
