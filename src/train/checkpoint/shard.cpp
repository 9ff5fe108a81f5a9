#include "train/checkpoint/shard.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/safetensors.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "train/checkpoint/checksum.h"

namespace lockstep {

namespace {

using nlohmann::json;

constexpr const char* kShardFormat = "lockstep shard 1";

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

torch::Tensor flat(const torch::Tensor& tensor) { return tensor.detach().to(torch::kCPU).contiguous().view({-1}); }

std::string_view bytes_of(const torch::Tensor& tensor) {
  return {static_cast<const char*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())};
}

/// Cuts what all ranks hold, laid end to end, into ranges of equal bytes.
class Shares {
 public:
  Shares(const std::vector<TensorSlice>& slices, int rank, int ranks) {
    std::int64_t total = 0;
    for (const TensorSlice& slice : slices)
      total += slice.replicated ? static_cast<std::int64_t>(slice.data.nbytes()) : 0;
    low_ = total * rank / ranks;
    high_ = total * (rank + 1) / ranks;
  }

  /// This rank's elements of the next replicated tensor: those whose first byte lies in its range.
  std::pair<std::int64_t, std::int64_t> next(const torch::Tensor& tensor) {
    const std::int64_t size = tensor.element_size(), count = tensor.numel();
    const auto first_at = [&](std::int64_t byte) {
      return std::clamp<std::int64_t>((std::max<std::int64_t>(byte - offset_, 0) + size - 1) / size, 0, count);
    };
    const std::pair range(first_at(low_), first_at(high_));
    offset_ += count * size;
    return range;
  }

 private:
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
  std::int64_t offset_ = 0;
};

void check(const TensorSlice& slice) {
  const std::int64_t elements = elements_of(slice.shape);
  const std::int64_t end = slice.begin + slice.data.numel();
  const bool whole = slice.begin == 0 && end == elements;
  const bool whole_everywhere = slice.replicated || slice.of_rank_zero;
  if (slice.begin >= 0 && end <= elements && (whole || !whole_everywhere)) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("Tensor '{}' of {} elements was given as elements {} to {} of it{}.", slice.name, elements,
                          slice.begin, end, whole_everywhere ? ", and as what each rank has whole" : ""));
}

std::string key_of(const Piece& piece) {
  const std::int64_t end = piece.begin + piece.data.numel();
  if (piece.begin == 0 && end == elements_of(piece.shape)) return piece.tensor;
  return fmt::format("{}[{}:{}]", piece.tensor, piece.begin, end);
}

}  // namespace

std::vector<Piece> pieces_of(const std::vector<TensorSlice>& slices, int rank, int ranks) {
  std::vector<Piece> pieces;
  Shares shares(slices, rank, ranks);
  for (const TensorSlice& slice : slices) {
    check(slice);
    std::int64_t first = 0, last = slice.data.numel();
    if (slice.replicated) std::tie(first, last) = shares.next(slice.data);
    const bool empty = elements_of(slice.shape) == 0 && rank == 0;  // somebody has to say that it is there
    if ((first == last && !empty) || slice.is_copy || (slice.of_rank_zero && rank > 0)) continue;
    pieces.push_back({slice.name, slice.shape, slice.begin + first, flat(slice.data).slice(0, first, last)});
  }
  return pieces;
}

std::string shard_name(int rank, int ranks) { return fmt::format("shard-{:05}-of-{:05}.safetensors", rank, ranks); }

ShardRecord write_shard(const std::filesystem::path& folder, const std::string& file,
                        const std::vector<Piece>& pieces) {
  json records = json::array();
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const Piece& piece : pieces) {
    const std::string key = key_of(piece);
    tensors.emplace_back(key, key == piece.tensor ? piece.data.view(piece.shape) : piece.data);
    records.push_back({{"key", key},
                       {"tensor", piece.tensor},
                       {"shape", piece.shape},
                       {"begin", piece.begin},
                       {"end", piece.begin + piece.data.numel()},
                       {"checksum", checksum(bytes_of(piece.data))}});
  }
  const auto path = folder / file;
  write_safetensors(path, tensors, {{"format", kShardFormat}, {"pieces", records.dump()}});
  const SafetensorsFile written(path);
  return {file, std::filesystem::file_size(path), checksum(written.header_bytes())};
}

std::vector<PieceRecord> parse_pieces(const std::map<std::string, std::string>& metadata, const std::string& path) {
  std::vector<PieceRecord> records;
  try {
    if (metadata.at("format") != kShardFormat) throw std::out_of_range("format");
    for (const json& one : json::parse(metadata.at("pieces"))) {
      records.push_back({one.at("key").get<std::string>(), one.at("tensor").get<std::string>(),
                         one.at("shape").get<std::vector<std::int64_t>>(), one.at("begin").get<std::int64_t>(),
                         one.at("end").get<std::int64_t>(), one.at("checksum").get<std::string>()});
    }
  } catch (const std::exception&) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} is no shard of a checkpoint that this version reads.", path));
  }
  return records;
}

}  // namespace lockstep
