#pragma once

#include <lockstep/checkpoint.h>

#include <string>
#include <vector>

#include "train/checkpoint/manifest.h"

namespace lockstep {

/// A run of a tensor's elements that one rank writes.
struct Piece {
  std::string tensor;               ///< the whole one's name
  std::vector<std::int64_t> shape;  ///< the whole one's
  std::int64_t begin = 0;
  torch::Tensor data;  ///< one-dimensional, contiguous, on the host
};

/// What rank `rank` of `ranks` writes of these slices: its own, its share, equal in bytes, of the replicated ones, and
/// as rank 0 those that are its. The data is not copied where it lies in order.
std::vector<Piece> pieces_of(const std::vector<TensorSlice>& slices, int rank, int ranks);

/// "shard-00001-of-00004.safetensors".
std::string shard_name(int rank, int ranks);

/// Writes pieces as a safetensors file: whole tensors by their name, others as "name[begin:end]"; its metadata holds
/// which they are, and the checksum of each. Throws Error (kIo, kInvalidArgument).
ShardRecord write_shard(const std::filesystem::path& folder, const std::string& file, const std::vector<Piece>& pieces);

/// What a shard says of one of its pieces.
struct PieceRecord {
  std::string key;  ///< the name in the file
  std::string tensor;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string checksum;
};

/// From the metadata of a shard. Throws Error (kInvalidArgument) naming `path`.
std::vector<PieceRecord> parse_pieces(const std::map<std::string, std::string>& metadata, const std::string& path);

}  // namespace lockstep
