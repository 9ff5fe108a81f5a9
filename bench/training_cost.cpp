// What training on several ranks adds to an iteration. Every rank trains two copies of the same encoder in turns, one
// on its own and one in lockstep (with --micro-batches, to bits that do not depend on the ranks), or, with --mode
// stages, one at stage 0 of Sharded and one at stage 3; rank 0 prints one JSON object: times, and the most memory that
// a rank held. bench/compare_training runs it beside PyTorch's DDP and says what follows; bench/peers/pytorch_ddp.py is
// its twin.
#include "bench/usage.h"

#include <lockstep/train.h>
#include <torch/torch.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int iterations = 10;
  int warm_up = 3;
  std::int64_t layers = 6;
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t sequence = 32;
  std::int64_t batch = 16;
  int micro_batches = 0;
  std::string mode = "both";
  bool communication = false;
  std::size_t bucket_bytes = lockstep::DataParallelOptions().bucket_bytes;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Of a file under /proc/self: what stands beside `name`, in MiB.
double mebibytes(const std::string& file, const std::string& name) {
  std::ifstream lines("/proc/self/" + file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  throw std::runtime_error("/proc/self/" + file + " says nothing of " + name + ".");
}

/// The most memory that this process ever held; of what it shares with other ranks, its share.
double peak_mib() {
  return mebibytes("status", "VmHWM") - mebibytes("status", "RssShmem") + mebibytes("smaps_rollup", "Pss_Shmem");
}

/// Without masks: Sequential gives a layer one argument, and a wrapped block has no defaults for the others.
struct UnmaskedLayerImpl : torch::nn::TransformerEncoderLayerImpl {
  using TransformerEncoderLayerImpl::TransformerEncoderLayerImpl;
  torch::Tensor forward(const torch::Tensor& input) { return TransformerEncoderLayerImpl::forward(input, {}, {}); }
};

/// With `shard` each layer is a block of it.
torch::nn::Sequential make_encoder(const Options& options, std::optional<lockstep::Sharded>& shard) {
  torch::manual_seed(1);
  const auto layer = torch::nn::TransformerEncoderLayerOptions(options.width, options.heads)
                         .dim_feedforward(4 * options.width)
                         .dropout(0.0);
  torch::nn::Sequential encoder;
  for (std::int64_t i = 0; i < options.layers; ++i) {
    if (shard) {
      encoder->push_back(shard->wrap(torch::nn::ModuleHolder<UnmaskedLayerImpl>(layer)));
    } else {
      encoder->push_back(torch::nn::TransformerEncoderLayer(layer));
    }
  }
  if (shard) shard->attach(*encoder);
  return encoder;
}

/// A model with its optimizer, and what its iterations took.
class Training {
 public:
  Training(std::string name, const Options& options, std::optional<lockstep::Sharded> shard = std::nullopt)
      : name_(std::move(name)),
        shard_(std::move(shard)),
        model_(make_encoder(options, shard_)),
        optimizer_(model_->parameters(), 1e-3),
        input_(torch::randn({options.sequence, options.batch, options.width})) {}

  const std::string& name() const { return name_; }
  torch::nn::Sequential& model() { return model_; }

  /// How many this rank holds; at stage 3 those of its pieces.
  std::int64_t parameters() const {
    std::int64_t count = 0;
    for (const auto& parameter : model_->parameters()) count += parameter.numel();
    return count;
  }

  void iterate() {
    const auto start = Clock::now();
    optimizer_.zero_grad();
    const auto loss = loss_of(input_);
    const auto before_backward = Clock::now();
    loss.backward();
    backward_ms = milliseconds_since(before_backward);
    if (shard_) {
      shard_->step(optimizer_);
    } else {
      optimizer_.step();
    }
    iteration_ms = milliseconds_since(start);
  }

  /// What counts as backward here includes forward: they take turns.
  void iterate(lockstep::InvariantParallel& replica, const lockstep::Group& group) {
    const auto start = Clock::now();
    const std::int64_t batch = input_.size(1);
    const std::int64_t first = batch * group.rank();
    replica.backward(batch * group.size(), [&](std::int64_t begin, std::int64_t end) {
      return loss_of(input_.slice(1, begin - first, end - first));
    });
    backward_ms = milliseconds_since(start);
    optimizer_.step();
    iteration_ms = milliseconds_since(start);
  }

  double iteration_ms = 0;
  double backward_ms = 0;

 private:
  torch::Tensor loss_of(const torch::Tensor& input) { return model_->forward(input).square().mean(); }

  std::string name_;
  std::optional<lockstep::Sharded> shard_;
  torch::nn::Sequential model_;
  torch::optim::SGD optimizer_;
  torch::Tensor input_;
};

/// Iterations of the one and the other in turns; who begins changes too.
class Measurement {
 public:
  Measurement(const lockstep::World& world, const Options& options) : world_(world), options_(options) {
    if (options.mode == "stages") {
      one_.emplace("stage_0", options, lockstep::Sharded(world, {.stage = 0}));
      other_.emplace("stage_3", options, lockstep::Sharded(world, {.stage = 3}));
      return;
    }
    if (options.mode != "wrapped") one_.emplace("alone", options);
    if (options.mode == "alone") return;
    other_.emplace("together", options);
    if (options.micro_batches == 0) {
      replica_.emplace(world, *other_->model(), lockstep::DataParallelOptions{.bucket_bytes = options.bucket_bytes});
    } else {
      invariant_.emplace(world, *other_->model(), lockstep::InvariantOptions{.micro_batches = options.micro_batches});
    }
  }

  nlohmann::json run() {
    for (int i = -options_.warm_up; i < options_.iterations; ++i) {
      if (i % 2 == 0) measure_one(i);
      measure_other(i);
      if (i % 2 != 0) measure_one(i);
    }
    std::vector<double> peak{peak_mib()};
    world_.all_reduce(lockstep::buffer_of(peak), lockstep::ReduceOp::kMax).wait();
    result_["peak_mib"] = peak[0];
    result_["library"] = "Lockstep";
    result_["libtorch"] = TORCH_VERSION;
    result_["world_size"] = world_.size();
    result_["parameters"] = (one_ ? *one_ : *other_).parameters();
    if (other_) result_[other_->name() + "_parameters"] = other_->parameters();
    return result_;
  }

 private:
  void measure_one(int iteration) {
    if (one_) measure(iteration, *one_);
  }
  void measure_other(int iteration) {
    if (!other_) return;
    measure(iteration, *other_);
    if (iteration < 0) return;
    if (invariant_) result_["communication_ms"].push_back(invariant_->report().communication_ms);
    if (replica_) take(replica_->report());
  }

  void take(const lockstep::SyncReport& report) {
    double busy_ms = 0;
    int before_last = 0;
    for (const auto& bucket : report.buckets) {
      busy_ms += static_cast<double>(bucket.completed_us - bucket.launched_us) / 1000;
      before_last += bucket.launched_us < report.last_gradient_us ? 1 : 0;
    }
    result_["exposed_ms"].push_back(report.exposed_ms);
    result_["exposed_in_backward_ms"].push_back(report.exposed_in_backward_ms);
    result_["buckets_ms"].push_back(busy_ms);
    result_["buckets"] = report.buckets.size();
    result_["buckets_before_last_gradient"].push_back(before_last);
    if (options_.communication) measure_communication(report);
  }

  /// What the same buckets take when nothing is computed.
  void measure_communication(const lockstep::SyncReport& report) {
    std::size_t most = 0;
    for (const auto& bucket : report.buckets) most = std::max(most, bucket.bytes);
    if (buckets_memory_.bytes() < most) buckets_memory_ = world_.allocate(most);
    world_.barrier().wait();
    const auto start = Clock::now();
    for (const auto& bucket : report.buckets) {
      auto* values = static_cast<float*>(buckets_memory_.data());
      world_.all_reduce(lockstep::buffer_of(values, bucket.bytes / sizeof(float)), lockstep::ReduceOp::kMean).wait();
    }
    result_["communication_alone_ms"].push_back(milliseconds_since(start));
  }

  /// The slowest rank's times.
  void measure(int iteration, Training& training) {
    world_.barrier().wait();
    if (invariant_ && &training == &*other_) {
      training.iterate(*invariant_, world_);
    } else {
      training.iterate();
    }
    std::vector<double> slowest{training.iteration_ms, training.backward_ms};
    world_.all_reduce(lockstep::buffer_of(slowest), lockstep::ReduceOp::kMax).wait();
    if (iteration < 0) return;
    result_[training.name() + "_ms"].push_back(slowest[0]);
    result_[training.name() + "_backward_ms"].push_back(slowest[1]);
  }

  const lockstep::World& world_;
  const Options& options_;
  std::optional<Training> one_;
  std::optional<Training> other_;
  std::optional<lockstep::DataParallel> replica_;
  std::optional<lockstep::InvariantParallel> invariant_;
  lockstep::RegisteredMemory buckets_memory_;
  nlohmann::json result_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What data-parallel training adds to an iteration of an encoder, as JSON");
  app.add_option("--iterations", options.iterations, "Of each kind")->check(CLI::Range(1, 1'000'000));
  app.add_option("--warm-up", options.warm_up, "Of each kind, before that");
  app.add_option("--layers", options.layers, "Of the encoder");
  app.add_option("--width", options.width, "A multiple of the heads");
  app.add_option("--heads", options.heads, "Of the attention");
  app.add_option("--sequence", options.sequence, "Tokens of a sample");
  app.add_option("--batch", options.batch, "Samples a rank");
  app.add_option("--micro-batches", options.micro_batches, "Of all ranks, of the copy in lockstep; 0: one a rank");
  app.add_option("--bucket-bytes", options.bucket_bytes, "Of gradients that travel together; 0: DataParallel picks");
  app.add_option("--mode", options.mode, "Which copies to train")
      ->check(CLI::IsMember({"both", "alone", "wrapped", "stages"}));
  app.add_flag("--communication", options.communication, "Also time the buckets' all-reduces by themselves");
  if (const auto end = lockstep::read_arguments(app, "training_cost", argc, argv)) return *end;
  const auto world = lockstep::World::from_env();
  at::set_num_threads(1);
  const nlohmann::json result = Measurement(world, options).run();
  if (world.rank() == 0) std::cout << result.dump() << std::endl;
}
