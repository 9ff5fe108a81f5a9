#pragma once

#include <lockstep/checkpoint.h>
#include <lockstep/safetensors.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "train/checkpoint/manifest.h"
#include "train/checkpoint/shard.h"

namespace lockstep {

/// A checkpoint's files, open for reading: which tensor lies where, and whether the bytes are those that were written.
class OpenedCheckpoint final : public StoredState {
 public:
  /// Reads the manifest and the headers of all shards, and no data. Throws Error (kIo, kInvalidArgument) naming the
  /// file if one is missing, cut short, swapped for another, or has a damaged header.
  explicit OpenedCheckpoint(const std::filesystem::path& folder);

  std::int64_t iteration() const { return manifest_.iteration; }
  std::size_t shards() const { return shards_.size(); }
  /// Throws Error (kInvalidArgument) naming the tensor and the file if data of this shard is damaged.
  void verify(std::size_t shard) const;

  /// Throws Error (kInvalidArgument) naming the tensor unless the whole slice can be read.
  void check(const TensorSlice& target) const;
  /// Fills a slice that was checked.
  void read(const TensorSlice& target) const;
  /// The whole tensor.
  torch::Tensor read(const std::string& name) const;

  const Tensor* find(const std::string& name) const override;
  std::vector<std::string> names(const std::string& prefix) const override;
  const std::string& value(const std::string& name) const override;
  const std::string* find_value(const std::string& name) const override;
  [[noreturn]] void refuse(const std::string& why) const override;

 private:
  struct Shard {
    std::string path;
    SafetensorsFile file;
    std::vector<PieceRecord> pieces;
  };
  struct Place {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t shard = 0;
    std::string key;
  };
  struct Whole {
    Tensor tensor;
    std::vector<Place> places;  ///< sorted by their begin
  };
  Shard open(const ShardRecord& record) const;
  void index(std::size_t shard);

  std::filesystem::path folder_;
  Manifest manifest_;
  std::vector<Shard> shards_;
  std::map<std::string, Whole> tensors_;
};

}  // namespace lockstep
