#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lockstep {

/// The folder in which a training's checkpoints lie, each a folder that gets its name once it is complete. All throw
/// Error (kIo) with the path and the reason.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path path(std::int64_t iteration) const;
  /// Where it is written.
  std::filesystem::path partial_path(std::int64_t iteration) const;
  /// Of what has a final name, ascending.
  std::vector<std::int64_t> iterations() const;

  void create() const;
  /// An empty folder at partial_path, and none that an earlier process left unfinished.
  void begin(std::int64_t iteration) const;
  /// Gives it its final name, durably. An older checkpoint of that iteration is there until this one is.
  void finish(std::int64_t iteration) const;
  /// The same where two folders cannot change names at once (NFS): for a moment, between two renames, there is none.
  void replace(std::int64_t iteration) const;
  /// Removes what begin made; says nothing if it cannot.
  void discard(std::int64_t iteration) const noexcept;
  /// Of those up to `newest`, removes all but the last `keep`.
  void prune(int keep, std::int64_t newest) const;

 private:
  void remove(std::int64_t iteration) const;
  std::filesystem::path folder_;
};

}  // namespace lockstep
