#include "train/checkpoint/opened_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>
#include <torch/utils.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "train/checkpoint/checksum.h"
#include "train/checkpoint/scalar_types.h"

namespace lockstep {

namespace {

[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} is damaged: {}. Fetch it again, or load an older checkpoint.", path, why));
}

std::string description(torch::ScalarType type, const std::vector<std::int64_t>& shape) {
  return fmt::format("{} [{}]", c10::toString(type), fmt::join(shape, ", "));
}

}  // namespace

OpenedCheckpoint::OpenedCheckpoint(const std::filesystem::path& folder) : folder_(folder) {
  const auto manifest = folder / kManifestFile;
  manifest_ = parse_manifest(read_file(manifest), manifest.string());
  for (const ShardRecord& record : manifest_.shards) shards_.push_back(open(record));
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) index(shard);
  for (auto& [name, whole] : tensors_) {
    std::sort(whole.places.begin(), whole.places.end(),
              [](const Place& a, const Place& b) { return a.begin < b.begin; });
  }
}

OpenedCheckpoint::Shard OpenedCheckpoint::open(const ShardRecord& record) const {
  const auto path = folder_ / record.file;
  std::error_code unreadable;
  const auto bytes = std::filesystem::file_size(path, unreadable);
  if (!unreadable && bytes != record.bytes)
    damaged(path.string(), fmt::format("it has {} bytes, and {} were written", bytes, record.bytes));
  SafetensorsFile file(path);
  if (checksum(file.header_bytes()) != record.header_checksum)
    damaged(path.string(), "its header is not the one that was written, so it was changed or swapped for another file");
  std::vector<PieceRecord> pieces = parse_pieces(file.metadata(), path.string());
  return {path.string(), std::move(file), std::move(pieces)};
}

/// Notes what a shard holds. Its header has a checksum, but may have been written by another program.
void OpenedCheckpoint::index(std::size_t number) {
  const Shard& shard = shards_[number];
  for (const PieceRecord& piece : shard.pieces) {
    const std::string& dtype = shard.file.dtype(piece.key);
    const auto type = safetensors::scalar_type_of(dtype);
    if (!type) damaged(shard.path, fmt::format("'{}' is {}, which this libtorch has not", piece.tensor, dtype));
    std::int64_t elements = 1;
    for (const std::int64_t size : shard.file.sizes(piece.key)) elements *= size;
    Whole& whole = tensors_.try_emplace(piece.tensor, Whole{{*type, piece.shape}, {}}).first->second;
    if (elements != piece.end - piece.begin || whole.tensor.type != *type || whole.tensor.shape != piece.shape)
      damaged(shard.path, fmt::format("'{}' contradicts what is said of it elsewhere", piece.tensor));
    whole.places.push_back({piece.begin, piece.end, number, piece.key});
  }
}

void OpenedCheckpoint::verify(std::size_t number) const {
  const Shard& shard = shards_.at(number);
  for (const PieceRecord& piece : shard.pieces) {
    const std::string found = checksum(shard.file.bytes(piece.key));
    if (found != piece.checksum)
      damaged(shard.path,
              fmt::format("the checksum of tensor '{}' is {}, and was {}", piece.key, found, piece.checksum));
  }
}

void OpenedCheckpoint::check(const TensorSlice& target) const {
  const auto found = tensors_.find(target.name);
  if (found == tensors_.end()) refuse(fmt::format("it holds no tensor '{}'", target.name));
  const Tensor& stored = found->second.tensor;
  if (stored.shape != target.shape || stored.type != target.data.scalar_type()) {
    refuse(fmt::format("tensor '{}' is {} in it and {} here", target.name, description(stored.type, stored.shape),
                       description(target.data.scalar_type(), target.shape)));
  }
  std::int64_t next = target.begin;
  const std::int64_t end = target.begin + target.data.numel();
  for (const Place& place : found->second.places) {
    if (place.begin <= next) next = std::max(next, place.end);
  }
  if (next < end) refuse(fmt::format("the elements of tensor '{}' from {} on are missing", target.name, next));
}

void OpenedCheckpoint::read(const TensorSlice& target) const {
  const torch::NoGradGuard no_grad;
  torch::Tensor data = target.data.detach();
  const bool in_place = data.is_contiguous() && data.device().is_cpu();
  torch::Tensor flat =
      in_place ? data.view({-1}) : torch::empty({data.numel()}, torch::TensorOptions(data.scalar_type()));
  const std::int64_t end = target.begin + data.numel();
  for (const Place& place : tensors_.at(target.name).places) {
    const std::int64_t first = std::max(place.begin, target.begin), last = std::min(place.end, end);
    if (first >= last) continue;
    const torch::Tensor stored = shards_[place.shard].file.tensor(place.key).view({-1});
    flat.slice(0, first - target.begin, last - target.begin)
        .copy_(stored.slice(0, first - place.begin, last - place.begin));
  }
  if (!in_place) data.copy_(flat.view(data.sizes()));
}

torch::Tensor OpenedCheckpoint::read(const std::string& name) const {
  const Tensor& stored = tensors_.at(name).tensor;
  torch::Tensor data = torch::empty(stored.shape, torch::TensorOptions(stored.type));
  const TensorSlice target{name, stored.shape, 0, data};
  check(target);
  read(target);
  return data;
}

const StoredState::Tensor* OpenedCheckpoint::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second.tensor;
}

std::vector<std::string> OpenedCheckpoint::names(const std::string& prefix) const {
  std::vector<std::string> names;
  for (auto at = tensors_.lower_bound(prefix); at != tensors_.end() && at->first.rfind(prefix, 0) == 0; ++at)
    names.push_back(at->first);
  return names;
}

const std::string& OpenedCheckpoint::value(const std::string& name) const {
  const std::string* found = find_value(name);
  if (found == nullptr) refuse(fmt::format("it holds no value '{}'", name));
  return *found;
}

const std::string* OpenedCheckpoint::find_value(const std::string& name) const {
  const auto found = manifest_.values.find(name);
  return found == manifest_.values.end() ? nullptr : &found->second;
}

void OpenedCheckpoint::refuse(const std::string& why) const {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("Checkpoint {} does not fit: {}. Was it saved by another program, or with another model?",
                          folder_.string(), why));
}

}  // namespace lockstep
