#pragma once

#include <lockstep/data_parallel.h>
#include <lockstep/link.h>

#include <cstdint>
#include <memory>
#include <string>

namespace lockstep {

/// What this rank did since the hook was made. Bytes and messages are the least that a collective sends of a message of
/// its size (all-reduce: 2 (p-1)/p of it in 2 (p-1) messages, all-gather: p-1 times its block, all-to-all: (p-1)/p of
/// it, each in p-1 messages). Over TCP the bytes on the wire are these (lockstep/traffic.h counts them there), but for
/// small buckets, which faster algorithms send in fewer messages and more bytes.
struct HookTraffic {
  double dense_bytes = 0;     ///< that all-reduce of the gradients in their own type would have sent
  double sent_bytes = 0;      ///< that were sent
  double dense_messages = 0;  ///< likewise
  double messages = 0;
  double hook_seconds = 0;      ///< that the hooks themselves took, with what they moved before they had to wait
  std::int64_t iterations = 0;  ///< in which buckets were reduced; 0: not counted
  double ratio() const { return sent_bytes > 0 ? dense_bytes / sent_bytes : 1; }
};

/// How the mean of a bucket over ranks is found. A small object with state, one for each DataParallel; hooks that wrap
/// another are handed what comes after them.
///
///   auto hook = lockstep::error_feedback(lockstep::top_k_hook(world, 0.01));
///   lockstep::DataParallel replica(world, *net, {.communication_hook = lockstep::use(hook)});
///   ... hook->traffic().ratio()
///
/// What a hook gives is the same to the bit on all ranks, if they compute with equally many threads. The lossy ones
/// compress float32 and send buckets of other types as they are.
///
/// No checkpoint holds what hooks remember, so a resumed training is not one that never stopped: it begins without what
/// error_feedback and deep_gradient_hook had not sent yet, without deep_gradient_hook's velocity and PowerSGD's last
/// columns, and all that draw by chance begin with their seeds.
class BucketHook {
 public:
  virtual ~BucketHook() = default;

  /// Starts. When the Pending is complete, `bucket.flat` holds the mean over ranks, or what stands for it; and
  /// `contribution`, unless it is null, holds what this rank's gradients counted as, in the same shape.
  virtual Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) = 0;
  /// Is the mean exact, but for rounding in the gradients' own type?
  virtual bool exact() const = 0;
  /// "error_feedback(top_k(0.01))".
  virtual std::string name() const = 0;
  virtual HookTraffic traffic() const = 0;
};
using BucketHookPtr = std::shared_ptr<BucketHook>;

/// Whether a hook pays.
struct Advice {
  bool pays = false;
  double dense_seconds = 0;  ///< that all-reduce would have taken for what the hook was given so far
  double sent_seconds = 0;   ///< that the hook's messages and bytes take
  double hook_seconds = 0;   ///< that it took to compress and decompress all that, as measured
  std::string sentence;      ///< all this in words, with the times of an iteration in the mean, where they were counted
};

/// Does this hook pay on this link? Prices what it has sent since it was made, and what all-reduce would have sent, by
/// the link's alpha and beta, and adds the time that it took itself; a few iterations are enough. Of backward it says
/// nothing: where that hides communication, there is less to save. Local; ranks may differ by what they measured.
/// Throws Error (kInvalidArgument) where nothing was sent to another rank: before the hook has reduced anything, and in
/// a group of one rank.
Advice advise(const BucketHook& hook, const Link& link);
Advice advise(const std::string& name, const HookTraffic& traffic, const Link& link);

// The functions below throw Error (kInvalidArgument), naming themselves and the value, for an argument outside of the
// range that is said with it.

/// As DataParallelOptions takes it.
CommunicationHook use(BucketHookPtr hook);

/// The mean as it is: the end of each chain. Exact.
BucketHookPtr all_reduce_hook(const Group& group);

/// Hands the bucket on in 16 bits (torch::kFloat16 or torch::kBFloat16; anything else throws Error, kInvalidArgument).
/// Half the bytes of float32. float16 overflows beyond 65,504.
BucketHookPtr cast_hook(torch::ScalarType type, BucketHookPtr next);

/// Adds what the hook it wraps lost of this rank's gradients to those of the next iteration, so that nothing is lost
/// for good (Karimireddy et al. 2019, Error Feedback Fixes SignSGD). Takes as much memory as the gradients. What is
/// kept is dropped when buckets are laid out anew, which happens once, after the first backward.
BucketHookPtr error_feedback(BucketHookPtr inner);

/// 8 bits a value and a float32 scale for each `block` values: summed in float32 by the rank that owns the piece and
/// sent back in 8 bits, too. A quarter of the bytes at any number of ranks. `block` is a positive multiple of 8.
BucketHookPtr int8_hook(const Group& group, std::int64_t block = 256);

/// The sign of each value and the mean magnitude of each `block` of them (Bernstein et al. 2018, signSGD; wrap it in
/// error_feedback). A bit a value, gathered: 64 / p times less than all-reduce. `block` is a positive multiple of 8.
BucketHookPtr sign_hook(const Group& group, std::int64_t block = 1024);

/// Each value as one of `levels` multiples of the 2-norm of its `bucket`, up to which one is drawn by chance so that
/// the mean is right (Alistarh et al. 2017, QSGD, section 3.1 and its buckets): unbiased, with a variance of at most
/// min(bucket / levels^2, sqrt(bucket) / levels) times the squared norm. 2, 4 or 8 bits a value, for 1, up to 7, up to
/// 127 levels, and a float32 a bucket, gathered: 64 / (p bits) times less than all-reduce. Error feedback around it is
/// of use only where that bound is below 1: beyond, what is kept grows. `levels` is 1 to 127, `bucket` a positive
/// multiple of 8.
BucketHookPtr qsgd_hook(const Group& group, int levels, std::uint64_t seed, std::int64_t bucket = 512);

/// The `fraction` of values that are largest, with their places, gathered (Stich et al. 2018, Sparsified SGD with
/// Memory; wrap it in error_feedback). 1 / (p fraction) times less than all-reduce. `fraction` is above 0 and at
/// most 1.
BucketHookPtr top_k_hook(const Group& group, double fraction);

/// The values of at least `threshold` in magnitude, with their places, gathered (as Strom 2015, Scalable Distributed
/// DNN Training, but with their values; wrap it in error_feedback). How many that are is each rank's own: two
/// collectives, of which the second, with the values, starts after backward. `threshold` is finite and 0 or more.
BucketHookPtr threshold_hook(const Group& group, double threshold);

/// The same, with a threshold that about a `fraction` of the values exceed, found anew for each bucket in a few passes
/// and without sorting: exponential tails fitted to the magnitudes, each to what the last one leaves (Abdelmoniem et
/// al. 2021, SIDCo). Wrap it in error_feedback. `fraction` is above 0 and at most 1.
BucketHookPtr adaptive_threshold_hook(const Group& group, double fraction);

/// Of deep_gradient_hook.
struct DeepGradientOptions {
  double momentum = 0.9;    ///< which the optimizer must then not have; 0 or more and below 1
  double fraction = 0.001;  ///< of values that are sent after the warm-up; above 0 and at most 1
  /// Iterations, 0 or more, during which more are sent: 1/4, 1/16, ... in equal parts, as in the paper.
  std::int64_t warmup = 0;
  /// Of the whole gradient, positive and finite; each rank clips its own to clip_norm / sqrt(p). 0: none.
  double clip_norm = 0;
  /// Iterations, 0 or more, made before, where a training is resumed: the warm-up goes on after them.
  std::int64_t done = 0;
};

/// Lin et al. 2018, Deep Gradient Compression, whole: each rank keeps a velocity of its own gradients (momentum
/// correction), adds it to what it has not sent yet, and sends the largest values of that, which both then forget
/// (momentum factor masking). It stands for gradient and momentum: train with SGD(momentum = 0) at the learning rate
/// that the dense training has with momentum. Has its own memory of what was not sent, twice that of the gradients:
/// within error_feedback it throws Error (kInvalidArgument) in the first backward. float32 only: for a bucket of
/// another type backward throws Error (kUnsupported). With clip_norm nothing is sent before backward is over.
BucketHookPtr deep_gradient_hook(const Group& group, DeepGradientOptions options = {});

/// A `fraction` of values that all ranks draw alike, so that their places need not be sent (wrap it in error_feedback).
/// 1 / fraction times less than what comes next. `fraction` is above 0 and at most 1.
BucketHookPtr random_k_hook(double fraction, std::uint64_t seed, BucketHookPtr next);

/// Each matrix of gradients as the product of two of `rank` columns, by one step of power iteration that starts where
/// the last one ended (Vogels et al. 2019, PowerSGD; wrap it in error_feedback). Vectors, and matrices that would not
/// get smaller, are sent as they are. Its second half is exchanged after backward. `rank` is 1 or more.
BucketHookPtr power_sgd_hook(const Group& group, std::int64_t rank, std::uint64_t seed);

}  // namespace lockstep
