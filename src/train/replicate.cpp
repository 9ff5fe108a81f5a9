#include "train/replicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "train/layout.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

using Things = std::vector<std::pair<std::string, std::string>>;

std::string serialise(const Things& things) {
  std::string text;
  for (const auto& [name, what] : things) text += name + '\0' + what + '\0';
  return text;
}

Things parse(std::string_view text) {
  Things things;
  const auto take = [&text] {
    const auto end = std::min(text.find('\0'), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  };
  while (!text.empty()) {
    auto name = take();
    things.emplace_back(std::move(name), take());
  }
  return things;
}

/// "'fc.weight' is trainable Float [3, 4] on rank 0 and trainable Float [3, 5] on rank 2".
std::string first_difference(const Things& zero, const Things& other, int rank) {
  std::size_t i = 0;
  while (i < zero.size() && i < other.size() && zero[i] == other[i]) ++i;
  if (i == zero.size())
    return fmt::format("rank {} has '{}' ({}), rank 0 has not", rank, other[i].first, other[i].second);
  if (i == other.size())
    return fmt::format("rank 0 has '{}' ({}), rank {} has not", zero[i].first, zero[i].second, rank);
  if (zero[i].first == other[i].first) {
    return fmt::format("'{}' is {} on rank 0 and {} on rank {}", zero[i].first, zero[i].second, other[i].second, rank);
  }
  return fmt::format("rank 0 has '{}' ({}) where rank {} has '{}' ({})", zero[i].first, zero[i].second, rank,
                     other[i].first, other[i].second);
}

constexpr std::size_t kStagingBytes = std::size_t{16} << 20;

/// Broadcasts a run of tensors through one piece of registered memory.
class Parcel {
 public:
  void add(const torch::Tensor& tensor) {
    tensors_.push_back(tensor);
    offsets_.push_back(bytes_);
    bytes_ += (tensor.nbytes() + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  }
  std::size_t bytes() const { return bytes_; }

  void send(const Group& group, const RegisteredMemory& memory) {
    const auto staged = [&](std::size_t i) { return tensor_like(tensors_[i], memory, offsets_[i]); };
    if (group.rank() == 0) {
      for (std::size_t i = 0; i < tensors_.size(); ++i) staged(i).copy_(tensors_[i]);
    }
    group.broadcast({memory.data(), bytes_, DataType::kUInt8}, 0, {.purpose = "first values of parameters and buffers"})
        .wait();
    if (group.rank() != 0) {
      for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(staged(i));
    }
  }

 private:
  std::vector<torch::Tensor> tensors_;
  std::vector<std::size_t> offsets_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::int64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return static_cast<std::int64_t>(hash);
}

Things descriptions_of(const std::vector<ModuleTensor>& tensors) {
  Things things;
  for (const ModuleTensor& tensor : tensors) things.emplace_back(tensor.name, tensor.description());
  return things;
}

void require_equal(const Group& group, const Things& things, const Compared& compared) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto self = static_cast<std::size_t>(group.rank());
  const std::string text = serialise(things);
  const OperationOptions options{.purpose = fmt::format("check that the {} of all ranks are the same", compared.what)};

  std::vector<std::int64_t> heads(2 * ranks);
  heads[2 * self] = fingerprint(text);
  heads[2 * self + 1] = static_cast<std::int64_t>(text.size());
  group.all_gather(buffer_of(heads), options).wait();
  std::size_t longest = 0;
  bool equal = true;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    equal = equal && heads[2 * rank] == heads[0] && heads[2 * rank + 1] == heads[1];
    longest = std::max(longest, static_cast<std::size_t>(heads[2 * rank + 1]));
  }
  if (equal) return;

  std::vector<std::uint8_t> texts(longest * ranks);
  std::memcpy(texts.data() + self * longest, text.data(), text.size());
  group.all_gather(buffer_of(texts), options).wait();
  const auto things_of = [&](std::size_t rank) {
    return parse(
        {reinterpret_cast<const char*>(texts.data()) + rank * longest, static_cast<std::size_t>(heads[2 * rank + 1])});
  };
  const Things zero = things_of(0);
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    const Things other = things_of(rank);
    if (other == zero) continue;
    const int peer = static_cast<int>(rank);
    throw Error(
        ErrorCode::kMismatch,
        fmt::format("The {} differ: {}. {}", compared.what, first_difference(zero, other, peer), compared.advice),
        {.rank = group.rank(), .peer = peer, .operation = compared.operation});
  }
}

void refuse_together(const Group& group, const std::string& sentence, const std::string& owner) {
  std::vector<std::int64_t> longest{static_cast<std::int64_t>(sentence.size())};
  const OperationOptions options{.purpose = "what a rank refuses"};
  group.all_reduce(buffer_of(longest), ReduceOp::kMax, options).wait();
  const auto width = static_cast<std::size_t>(longest[0]);
  std::string said(width * static_cast<std::size_t>(group.size()), '\0');
  std::memcpy(said.data() + width * static_cast<std::size_t>(group.rank()), sentence.data(), sentence.size());
  group.all_gather({said.data(), said.size(), DataType::kUInt8}, options).wait();
  const std::size_t first = std::min(said.find_first_not_of('\0'), said.size());
  const auto rank = static_cast<int>(first / std::max<std::size_t>(width, 1));
  throw Error(ErrorCode::kMismatch, said.substr(first, width).c_str(),
              {.rank = group.rank(), .peer = rank, .operation = owner});
}

void broadcast_values(const Group& group, const std::vector<ModuleTensor>& tensors) {
  if (group.size() == 1) return;
  torch::NoGradGuard no_grad;
  std::vector<Parcel> parcels(1);
  std::size_t largest = 0;
  for (const ModuleTensor& each : tensors) {
    if (!each.tied_to.empty()) continue;
    const std::size_t bytes = parcels.back().bytes();
    if (bytes > 0 && bytes + each.tensor.nbytes() > kStagingBytes) parcels.emplace_back();
    parcels.back().add(each.tensor);
    largest = std::max(largest, parcels.back().bytes());
  }
  if (largest == 0) return;
  const RegisteredMemory memory = group.allocate(largest);
  for (Parcel& parcel : parcels) parcel.send(group, memory);
}

}  // namespace lockstep
