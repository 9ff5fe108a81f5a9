#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/checkpoint.h>
#include <torch/utils.h>

#include <exception>
#include <iostream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "train/checkpoint/agreement.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/opened_checkpoint.h"
#include "train/checkpoint/shard.h"

namespace lockstep {

namespace {

/// All that is written of one state, by this rank.
struct Snapshot {
  std::int64_t iteration = 0;
  std::vector<Piece> pieces;
  std::map<std::string, std::string> values;
};

Snapshot snapshot_of(const TrainingState& state, std::int64_t iteration, const Group& group) {
  Snapshot snapshot{.iteration = iteration};
  std::vector<TensorSlice> slices;
  for (const auto& part : state.parts()) {
    StateContent content = part->save(group.rank(), group.size());
    std::move(content.tensors.begin(), content.tensors.end(), std::back_inserter(slices));
    snapshot.values.merge(content.values);
  }
  snapshot.pieces = pieces_of(slices, group.rank(), group.size());
  return snapshot;
}

/// What every rank's file came to, by rank: rank 0 writes it down.
std::vector<ShardRecord> gather(const Group& group, const ShardRecord& mine) {
  const auto ranks = static_cast<std::size_t>(group.size()), self = static_cast<std::size_t>(group.rank());
  std::vector<std::int64_t> numbers(2 * ranks);
  numbers[2 * self] = static_cast<std::int64_t>(mine.bytes);
  numbers[2 * self + 1] = std::stoll(mine.header_checksum, nullptr, 16);
  group.all_gather(buffer_of(numbers), {.purpose = "checksums of a checkpoint"}).wait();
  std::vector<ShardRecord> records;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto* record = &numbers[2 * static_cast<std::size_t>(rank)];
    records.push_back(
        {shard_name(rank, group.size()), static_cast<std::uint64_t>(record[0]), fmt::format("{:08x}", record[1])});
  }
  return records;
}

}  // namespace

class Checkpoints::Implementation {
 public:
  Implementation(const Group& group, const std::filesystem::path& folder, const CheckpointOptions& options)
      : group_(group.split(0, group.rank())), folder_(folder), options_(options) {
    agree(group_, [&] {
      if (options_.keep < 1)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("CheckpointOptions::keep is {}, and at least one has to be kept.", options_.keep));
      if (group_.rank() == 0) folder_.create();
    });
  }

  ~Implementation() {
    try {
      wait();
    } catch (const std::exception& error) {
      std::cerr << "lockstep: the last checkpoint was not written: " << error.what() << '\n';
    }
  }

  const CheckpointFolder& folder() const { return folder_; }
  const SaveReport& report() const { return report_; }
  const std::vector<std::string>& passed_over() const { return passed_over_; }

  void wait() {
    if (!writer_.joinable()) return;
    writer_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    report_ = background_report_;
  }

  void save(std::int64_t iteration, const TrainingState& state, bool in_background) {
    wait();
    const auto start = Clock::now();
    Snapshot snapshot;
    agree(group_, [&] {
      snapshot = snapshot_of(state, iteration, group_);
      if (in_background) stage(snapshot);
    });
    if (!in_background) {
      report_ = write(snapshot, start);
      report_.stall_ms = report_.write_ms;
      return;
    }
    const double stall_ms = milliseconds_since(start);
    writer_ = std::thread([this, start, stall_ms, snapshot = std::move(snapshot)] {
      try {
        background_report_ = write(snapshot, start);
        background_report_.stall_ms = stall_ms;
      } catch (...) {
        error_ = std::current_exception();
      }
    });
  }

  std::optional<std::int64_t> load(TrainingState& state) {
    wait();
    passed_over_.clear();
    const std::vector<std::int64_t> all = iterations();
    for (auto iteration = all.rbegin(); iteration != all.rend(); ++iteration) {
      std::optional<OpenedCheckpoint> opened;
      try {
        open(opened, *iteration);
      } catch (const Error& error) {
        // The same on every rank. Anything else is a group that failed.
        if (error.code() != ErrorCode::kInvalidArgument && error.code() != ErrorCode::kIo) throw;
        passed_over_.emplace_back(error.what());
        continue;
      }
      fill(*opened, state);
      return *iteration;
    }
    if (all.empty()) return std::nullopt;
    throw Error(ErrorCode::kInvalidArgument, fmt::format("No checkpoint in {} is whole ({} tried). Of the newest: {}",
                                                         folder_.path().string(), all.size(), passed_over_.front()));
  }

  void load(TrainingState& state, std::int64_t iteration) {
    wait();
    passed_over_.clear();
    std::optional<OpenedCheckpoint> opened;
    open(opened, iteration);
    fill(*opened, state);
  }

 private:
  /// Copies what a save in the background writes, into memory that is kept for the next one.
  void stage(Snapshot& snapshot) {
    const torch::NoGradGuard no_grad;
    staging_.resize(snapshot.pieces.size());
    for (std::size_t i = 0; i < staging_.size(); ++i) {
      torch::Tensor& data = snapshot.pieces[i].data;
      torch::Tensor& copy = staging_[i];
      if (!copy.defined() || copy.numel() != data.numel() || copy.scalar_type() != data.scalar_type())
        copy = torch::empty_like(data);
      data = copy.copy_(data);
    }
  }

  SaveReport write(const Snapshot& snapshot, Clock::time_point start) {
    std::size_t bytes = 0;
    try {
      bytes = write_files(snapshot);
    } catch (const Error&) {
      // The same on every rank, so that none writes any more.
      if (group_.rank() == 0) folder_.discard(snapshot.iteration);
      throw;
    }
    return {.iteration = snapshot.iteration, .bytes = bytes, .write_ms = milliseconds_since(start)};
  }

  /// Returns the bytes of this rank's.
  std::size_t write_files(const Snapshot& snapshot) {
    const bool first = group_.rank() == 0;
    const auto partial = folder_.partial_path(snapshot.iteration);
    agree(group_, [&] {
      if (first) folder_.begin(snapshot.iteration);
    });
    ShardRecord shard;
    agree(group_, [&] { shard = write_shard(partial, shard_name(group_.rank(), group_.size()), snapshot.pieces); });
    const Manifest manifest{snapshot.iteration, gather(group_, shard), snapshot.values};
    agree(group_, [&] {
      if (!first) return;
      write_file_atomically(partial / kManifestFile, to_text(manifest));
      folder_.finish(snapshot.iteration);
      folder_.prune(options_.keep, snapshot.iteration);
    });
    return shard.bytes;
  }

  /// As rank 0 sees them.
  std::vector<std::int64_t> iterations() const {
    std::string text;
    agree(group_, [&] {
      if (group_.rank() == 0) text = fmt::format("{}", fmt::join(folder_.iterations(), " "));
    });
    std::istringstream words(broadcast_text(group_, text, 0));
    return {std::istream_iterator<std::int64_t>(words), {}};
  }

  /// Opens a checkpoint on every rank, and verifies it together.
  void open(std::optional<OpenedCheckpoint>& opened, std::int64_t iteration) const {
    agree(group_, [&] {
      opened.emplace(folder_.path(iteration));
      const auto ranks = static_cast<std::size_t>(group_.size());
      for (auto shard = static_cast<std::size_t>(group_.rank()); shard < opened->shards(); shard += ranks)
        opened->verify(shard);
    });
  }

  void fill(const OpenedCheckpoint& stored, TrainingState& state) const {
    std::vector<TensorSlice> targets;
    agree(group_, [&] {
      for (const auto& part : state.parts()) {
        for (TensorSlice& target : part->targets(stored, group_.rank(), group_.size())) {
          stored.check(target);
          targets.push_back(std::move(target));
        }
      }
    });
    agree(group_, [&] {
      for (const TensorSlice& target : targets) stored.read(target);
    });
    agree(group_, [&] {  // all ranks have read: parts may communicate
      for (const auto& part : state.parts()) part->loaded(stored);
    });
  }

  Group group_;  ///< of its own, since a thread uses it beside the training
  CheckpointFolder folder_;
  CheckpointOptions options_;
  std::thread writer_;
  std::exception_ptr error_;  ///< of the writer
  std::vector<torch::Tensor> staging_;
  SaveReport report_;
  SaveReport background_report_;  ///< the writer's, until it is waited for
  std::vector<std::string> passed_over_;
};

Checkpoints::Checkpoints(const Group& group, const std::filesystem::path& folder, const CheckpointOptions& options)
    : implementation_(std::make_unique<Implementation>(group, folder, options)) {}
Checkpoints::~Checkpoints() = default;

void Checkpoints::save(std::int64_t iteration, const TrainingState& state) {
  implementation_->save(iteration, state, false);
}
void Checkpoints::save_async(std::int64_t iteration, const TrainingState& state) {
  implementation_->save(iteration, state, true);
}
void Checkpoints::wait() { implementation_->wait(); }
std::optional<std::int64_t> Checkpoints::load(TrainingState& state) { return implementation_->load(state); }
void Checkpoints::load(TrainingState& state, std::int64_t iteration) { implementation_->load(state, iteration); }
const std::vector<std::string>& Checkpoints::passed_over() const { return implementation_->passed_over(); }
std::vector<std::int64_t> Checkpoints::iterations() const { return implementation_->folder().iterations(); }
std::filesystem::path Checkpoints::path(std::int64_t iteration) const {
  return implementation_->folder().path(iteration);
}
const SaveReport& Checkpoints::report() const { return implementation_->report(); }

}  // namespace lockstep
