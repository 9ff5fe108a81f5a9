#pragma once

#include <lockstep/data_parallel.h>
#include <lockstep/world.h>
#include <torch/optim/optimizer.h>
#include <torch/utils.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace lockstep {

namespace detail {

class ReplicaThreads;

/// Hides the threads from programs.
class Replicas {
 public:
  Replicas(int count, int computing_threads, std::uint64_t seed);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  int count() const;
  /// In each thread. Throws what the first to fail threw.
  void run(const std::function<void(World&)>& task);

 private:
  std::unique_ptr<ReplicaThreads> threads_;
};

/// A replica's part of a global batch.
struct BatchPart {
  std::vector<torch::Tensor> tensors;  ///< of one sample where `samples` is 0
  std::int64_t samples = 0;
};

/// Samples in the batch. Throws Error (kInvalidArgument) for none, and for tensors that differ in it.
std::int64_t samples_of(const std::vector<torch::Tensor>& batch);
/// Samples [m r / p, m (r + 1) / p) of m, as a Loader cuts; replica r of p.
BatchPart part_of(const std::vector<torch::Tensor>& batch, int replica, int replicas);

}  // namespace detail

struct MirroredOptions {
  /// libtorch's, in each replica: about the cores over the replicas. OpenBLAS, where libtorch multiplies by it, has as
  /// many for all of the process from then on.
  int computing_threads = 1;
  /// Replica r draws its random numbers (first weights, dropout) as a process does that called
  /// torch::manual_seed(seed + r).
  std::uint64_t seed = 0;
  DataParallelOptions parallel = {};
};

/// One of the copies of a model, in the thread that is its own.
template <class Model>
struct Replica {
  World& world;  ///< of all replicas; world.rank() says which this one is
  Model model;
  DataParallel parallel;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

/// Trains copies of a model in threads of this process, each on its part of every batch, and all with the same
/// parameters: what tf.distribute.MirroredStrategy does. The program stays one thread that sees global batches:
///
///   lockstep::Mirrored<Net> mirrored(4, [] { return Net(); }, [](std::vector<torch::Tensor> parameters) {
///     return std::make_unique<torch::optim::SGD>(std::move(parameters), 0.1);
///   });
///   for (auto& batch : *loader) {                      // any loader of whole batches
///     const double loss = mirrored.step({batch.data, batch.target}, [](Net& net, const auto& part) {
///       return torch::nn::functional::cross_entropy(net->forward(part[0]), part[1]);
///     });
///   }
///   torch::save(mirrored.model(), "model.pt");
///
/// Results are those of as many processes with DataParallel and the same global batches, to the bit. `Model` is a
/// module's holder (TORCH_MODULE) or std::shared_ptr of a module. What is run in a replica's thread may use
/// everything of lockstep::train on `replica.world`, but must not change what other threads read.
///
/// If something throws in a replica, the call throws that, and so does every later one: the replicas are no longer
/// equal. Calls come from one thread at a time. Throws Error: kInvalidArgument for less than one replica or computing
/// thread, and what DataParallel throws.
template <class Model>
class Mirrored {
 public:
  using MakeModel = std::function<Model()>;
  using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor> parameters)>;
  /// Of a model and of tensors whose first dimensions are the samples.
  using OfPart = std::function<torch::Tensor(Model& model, const std::vector<torch::Tensor>& part)>;

  /// Both are called once a replica, by all at once; all get the parameters of the first.
  Mirrored(int replicas, const MakeModel& make_model, const MakeOptimizer& make_optimizer,
           const MirroredOptions& options = {})
      : threads_(replicas, options.computing_threads, options.seed),
        replicas_(static_cast<std::size_t>(threads_.count())) {
    threads_.run([&](World& world) {
      Model model = make_model();
      DataParallel parallel(world, *model, options.parallel);
      auto optimizer = make_optimizer(model->parameters());
      mine(world) = std::make_unique<Replica<Model>>(
          Replica<Model>{world, std::move(model), std::move(parallel), std::move(optimizer)});
    });
  }

  /// One update by a global batch: tensors whose first dimensions are the samples. `loss` is the mean over the samples
  /// that it is given. Returns the mean over all of them. Throws Error (kInvalidArgument) for tensors that differ in
  /// their number of samples, or without any.
  double step(const std::vector<torch::Tensor>& batch, const OfPart& loss) {
    const std::int64_t samples = detail::samples_of(batch);
    std::vector<double> sums(replicas_.size());
    run_all([&](Replica<Model>& replica) {
      const auto part = detail::part_of(batch, replica.world.rank(), replica.world.size());
      if (samples != weighted_for_) replica.parallel.samples(part.samples);
      replica.optimizer->zero_grad();
      const torch::Tensor value = loss(replica.model, part.tensors);
      value.backward();
      replica.optimizer->step();
      sums[static_cast<std::size_t>(replica.world.rank())] =
          value.template item<double>() * static_cast<double>(part.samples);
    });
    weighted_for_ = samples;
    return std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(samples);
  }

  /// What `f` gives of each replica's part of a global batch, joined along the samples in their order; without
  /// gradients, the models in evaluation mode. Errors as of step().
  torch::Tensor evaluate(const std::vector<torch::Tensor>& batch, const OfPart& f) {
    detail::samples_of(batch);
    std::vector<torch::Tensor> results(replicas_.size());
    run_all([&](Replica<Model>& replica) {
      const torch::NoGradGuard no_gradients;
      const bool training = replica.model->is_training();
      const auto part = detail::part_of(batch, replica.world.rank(), replica.world.size());
      replica.model->eval();
      const torch::Tensor result = f(replica.model, part.tensors);
      replica.model->train(training);
      results[static_cast<std::size_t>(replica.world.rank())] = result.narrow(0, 0, part.samples);
    });
    return torch::cat(results);
  }

  /// `f` in each replica's thread, all at once: for updates that step() does not make (accumulation, clipping, several
  /// losses). Replicas weigh the same, whatever was before, until `f` says otherwise by replica.parallel.samples().
  /// Returns when all have.
  void run(const std::function<void(Replica<Model>&)>& f) {
    weighted_for_ = 0;  // f may weigh otherwise
    run_all([&f](Replica<Model>& replica) {
      replica.parallel.samples(1);
      f(replica);
    });
  }

  int size() const { return threads_.count(); }
  /// The first replica's; what all others hold too. To be read, saved and evaluated between calls.
  Model& model() { return replicas_.front()->model; }

 private:
  void run_all(const std::function<void(Replica<Model>&)>& f) {
    threads_.run([&](World& world) { f(*mine(world)); });
  }
  std::unique_ptr<Replica<Model>>& mine(const World& world) {
    return replicas_[static_cast<std::size_t>(world.rank())];
  }

  detail::Replicas threads_;
  std::vector<std::unique_ptr<Replica<Model>>> replicas_;  // go before the worlds that they are in
  std::int64_t weighted_for_ = 0;                          ///< samples of the batch that DataParallel knows of
};

}  // namespace lockstep
