#include "train/sharded/sharded_flat.h"

#include <fmt/format.h>
#include <lockstep/prediction.h>

#include <algorithm>
#include <cstring>

#include "train/bucket.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

/// The flat's first bytes, of a buffer that may be longer.
RegisteredMemory first_bytes(const RegisteredMemory& memory, std::size_t bytes) { return {memory.owner(), bytes}; }

std::vector<std::string> names_of(const std::vector<ModuleTensor>& parameters) {
  std::vector<std::string> names;
  for (const auto& parameter : parameters) names.push_back(parameter.name);
  return names;
}

}  // namespace

ShardedFlat::ShardedFlat(const Group& group, std::shared_ptr<BufferPool> pool, const FlatLayout& layout,
                         const std::vector<ModuleTensor>& parameters, FlatOptions options)
    : group_(group), pool_(std::move(pool)), layout_(layout), keep_(options.keep), wires_(std::move(options.wires)) {
  if (options.gather_as != GatherAs::kFloat32 && layout_.bucket.dtype == DataType::kFloat32) {
    code_.emplace(options.gather_as, static_cast<std::int64_t>(layout_.piece_bytes() / sizeof(float)));
  }
  for (const Slot& slot : layout_.bucket.slots) parameters_.push_back(parameters[slot.parameter]);
  names_ = some_of(names_of(parameters_));
  torch::NoGradGuard no_grad;
  const std::size_t bytes = layout_.bucket.bytes;
  buffer_ = keep_ == Keep::kWhole ? group_.allocate(bytes) : pool_->take(bytes);
  make_tensors(parameters_.front().tensor.scalar_type());
  for (std::size_t i = 0; i < size(); ++i) {
    wholes_[i].copy_(parameters_[i].tensor);
    parameters_[i].tensor.set_data(wholes_[i]);
  }
  own_holders_ = flat_.storage().use_count();
  if (code_ && keep_ == Keep::kWhole) store();
}

void ShardedFlat::make_tensors(torch::ScalarType type) {
  const auto element = static_cast<std::int64_t>(torch::elementSize(type));
  const ByteRange own = layout_.piece(static_cast<std::size_t>(group_.rank()));
  const auto at = [element](std::size_t bytes) { return static_cast<std::int64_t>(bytes) / element; };
  flat_ = tensor_over(first_bytes(buffer_, layout_.bucket.bytes), type);
  piece_flat_ = keep_ == Keep::kWhole && !code_ ? flat_.narrow(0, at(own.begin), at(own.size()))
                                                : torch::zeros(at(own.size()), type);
  const std::size_t piece_starts_at = own.begin;
  for (std::size_t i = 0; i < size(); ++i) {
    const torch::Tensor& tensor = parameters_[i].tensor;
    const auto shape = torch::empty_like(tensor, torch::TensorOptions(torch::kMeta));  // dense strides
    wholes_.push_back(flat_.as_strided(tensor.sizes(), shape.strides(), at(layout_.bucket.slots[i].offset)).detach());
    const ByteRange mine = part(i);
    pieces_.push_back(mine.size() == 0
                          ? torch::empty({0}, type)
                          : piece_flat_.narrow(0, at(mine.begin - piece_starts_at), at(mine.size())).detach());
  }
}

ByteRange ShardedFlat::part(std::size_t i) const {
  return layout_.part_of(layout_.bucket.slots[i].offset, wholes_.at(i).numel() * wholes_[i].element_size(),
                         static_cast<std::size_t>(group_.rank()));
}

std::int64_t ShardedFlat::begin(std::size_t i) const {
  return static_cast<std::int64_t>(part(i).begin - layout_.bucket.slots[i].offset) /
         static_cast<std::int64_t>(wholes_[i].element_size());
}

void ShardedFlat::rename(std::size_t i, const std::string& name) {
  parameters_[i].name = name;
  names_ = some_of(names_of(parameters_));
}

void ShardedFlat::begin_gather() { start(is_coded()); }

void ShardedFlat::begin_exact_gather() {
  if (is_coded() && keep_ == Keep::kPiece) release();
  start(/*coded=*/false);
}

std::byte* ShardedFlat::own_piece() const {
  return static_cast<std::byte*>(buffer_.data()) + layout_.piece(static_cast<std::size_t>(group_.rank())).begin;
}

torch::Tensor ShardedFlat::wire_rows() const {
  const std::size_t bytes = code_->row_bytes();
  return tensor_over(first_bytes(wire_, bytes * layout_.pieces), torch::kUInt8)
      .view({static_cast<std::int64_t>(layout_.pieces), static_cast<std::int64_t>(bytes)});
}

void ShardedFlat::start(bool coded) {
  if (gathering_ || (whole_ && keep_ == Keep::kPiece)) return;
  double unheeded_ms = 0;
  const Timed exposed(log_ != nullptr ? log_->exposed_ms() : unheeded_ms);
  Buffer sent{nullptr, layout_.bucket.bytes / size_of(layout_.bucket.dtype), layout_.bucket.dtype};
  if (coded) {
    const torch::NoGradGuard no_grad;
    wire_ = wires_->take(code_->row_bytes() * layout_.pieces);
    code_->encode(piece_flat_, wire_rows()[group_.rank()]);
    sent = {nullptr, code_->row_bytes() * layout_.pieces, DataType::kUInt8};
  } else {
    if (keep_ == Keep::kPiece) buffer_ = pool_->take(layout_.bucket.bytes);
    if (has_own_piece()) std::memcpy(own_piece(), piece_flat_.data_ptr(), layout_.piece_bytes());
  }
  sent.data = coded ? wire_.data() : buffer_.data();
  gathering_ = true;
  if (log_ != nullptr) log_->sequence().note("gather", block_ + names_);
  record_ = nullptr;
  if (log_ != nullptr && !log_->phase().empty()) {
    record_ = std::make_shared<OperationRecord>();
    gather_timing_ = described(Collective::kAllGather);
    gather_timing_.phase = log_->phase();
    gather_timing_.predicted_ms = predicted_ms_;
    gather_timing_.launched_us = now_us();
  }
  gather_ = group_.all_gather(sent, {.purpose = "values of " + names_, .record = record_, .in_background = true});
}

void ShardedFlat::finish_gather() {
  if (!gathering_) return;
  gathering_ = false;
  await_gather();
  if (wire_.data() != nullptr) decode();
  if (keep_ == Keep::kPiece) give_storage(buffer_);
  show_whole();
}

void ShardedFlat::decode() {
  const torch::NoGradGuard no_grad;
  if (keep_ == Keep::kPiece) buffer_ = pool_->take(layout_.bucket.bytes);
  code_->decode(wire_rows(), tensor_over(first_bytes(buffer_, layout_.bucket.bytes), torch::kFloat32));
  wires_->give_back(std::move(wire_));
  wire_ = {};
}

void ShardedFlat::await_gather() {
  const auto needed_us = now_us();
  {
    double unheeded_ms = 0;
    const Timed exposed(record_ ? log_->exposed_ms() : unheeded_ms);
    gather_.wait();
  }
  if (!record_) return;
  take_over(gather_timing_, *record_);
  gather_timing_.hidden = gather_timing_.completed_us <= needed_us;
  log_->add(std::move(gather_timing_));
  record_ = nullptr;
}

BucketTiming ShardedFlat::described(Collective collective) const {
  return {.index = index_,
          .parameters = names_of(parameters_),
          .bytes = layout_.bucket.bytes,
          .operation = std::string(to_string(collective)),
          .block = block_};
}

void ShardedFlat::log_gathers(GatherLog& log, int index) {
  log_ = &log;
  index_ = index;
  predicted_ms_ =
      code_ ? predicted_ms(group_, Collective::kAllGather, code_->row_bytes() * layout_.pieces, {}, DataType::kUInt8)
            : predicted_ms(group_, Collective::kAllGather, layout_.bucket.bytes, {}, layout_.bucket.dtype);
}

void ShardedFlat::store() {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < size(); ++i) {
    torch::Tensor& parameter = parameters_[i].tensor;
    if (parameter.data_ptr() == wholes_[i].data_ptr()) continue;
    if (parameter.sizes() != wholes_[i].sizes() || parameter.scalar_type() != wholes_[i].scalar_type()) {
      const ModuleTensor other{.name = parameters_[i].name, .tensor = parameter.detach(), .trainable = true};
      parameter.set_data(wholes_[i]);
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("Parameter '{}' was {} and has been made {} (an archive of another model?); it has its "
                              "old values again.",
                              parameters_[i].name, parameters_[i].description(), other.description()),
                  {.rank = group_.rank(), .operation = "Sharded"});
    }
    wholes_[i].copy_(parameter);  // reading an archive replaces the memory
    parameter.set_data(wholes_[i]);
  }
  if (has_own_piece()) std::memcpy(piece_flat_.data_ptr(), own_piece(), layout_.piece_bytes());
}

void ShardedFlat::adopt_replaced() {
  if (keep_ != Keep::kWhole || !whole_) return;
  bool replaced = false;
  for (std::size_t i = 0; i < size(); ++i)
    replaced = replaced || parameters_[i].tensor.data_ptr() != wholes_[i].data_ptr();
  if (!replaced) return;
  if (is_coded()) refuse_written();
  store();
}

void ShardedFlat::require_as_gathered() const {
  if (!is_coded() || keep_ != Keep::kWhole) return;
  const torch::NoGradGuard no_grad;
  const auto row = torch::empty({1, static_cast<std::int64_t>(code_->row_bytes())}, torch::kUInt8);
  code_->encode(piece_flat_, row[0]);
  const auto through = torch::empty_like(piece_flat_);
  code_->decode(row, through);
  if (std::memcmp(through.data_ptr(), own_piece(), layout_.piece_bytes()) == 0) return;
  refuse_written();
}

void ShardedFlat::refuse_written() const {
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: somebody wrote to them while they stood for what a gather in fewer bits made of them, which "
                  "this step would undo: hold what gather() returns while parameters are loaded or set.",
                  names_));
}

void ShardedFlat::show_whole() {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < size(); ++i) parameters_[i].tensor.set_data(wholes_[i]);
  whole_ = true;
}

void ShardedFlat::release() {
  finish_gather();
  if (!whole_) return;
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < size(); ++i) parameters_[i].tensor.set_data(pieces_[i]);
  whole_ = false;
  if (keep_ == Keep::kPiece) take_storage();
}

bool ShardedFlat::is_held_elsewhere() const { return flat_.storage().use_count() > own_holders_; }

void ShardedFlat::give_storage(const RegisteredMemory& memory) {
  auto* storage = flat_.storage().unsafeGetStorageImpl();
  auto* owner = new std::shared_ptr<void>(memory.owner());
  const auto drop = [](void* context) { delete static_cast<std::shared_ptr<void>*>(context); };
  storage->set_data_ptr_noswap(at::DataPtr(memory.data(), owner, drop, at::Device(at::kCPU)));
  storage->set_nbytes(layout_.bucket.bytes);
}

void ShardedFlat::take_storage() {
  auto* storage = flat_.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(nullptr, at::Device(at::kCPU)));
  storage->set_nbytes(std::size_t{0});
  pool_->give_back(std::move(buffer_));
  buffer_ = {};
}

}  // namespace lockstep
