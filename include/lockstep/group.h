#pragma once

#include <lockstep/error.h>
#include <lockstep/pending.h>
#include <lockstep/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>
#include <vector>

namespace lockstep {

namespace detail {
class GroupState;
}

/// Where a buffer lives. A group takes what its transport takes, and refuses other buffers (kInvalidArgument); today's
/// transports take host memory only.
enum class Device : std::uint8_t { kHost, kCuda };

/// A run of elements that a collective works on, in place.
struct Buffer {
  void* data = nullptr;   ///< a multiple of the elements' size, unless there are none (kInvalidArgument)
  std::size_t count = 0;  ///< elements, not bytes
  DataType dtype = DataType::kFloat32;
  Device device = Device::kHost;
  /// For device memory: the operation is ordered after this stream's work, and it after the operation. Null for host
  /// memory, which no stream orders: a group refuses such a buffer with one (kInvalidArgument).
  void* stream = nullptr;

  Buffer() = default;  ///< of no elements
  /// The type is always said: memory does not tell it, and sums of another one would be wrong without a word.
  Buffer(void* begin, std::size_t elements, DataType type, Device where = Device::kHost, void* ordered_by = nullptr)
      : data(begin), count(elements), dtype(type), device(where), stream(ordered_by) {}

  std::size_t bytes() const { return count * size_of(dtype); }
};

/// `count` elements from `data` on, in host memory, which stays the caller's; of a type that data_type_of knows. Who
/// sends what is const takes that off with const_cast: a send does not write.
template <class T>
Buffer buffer_of(T* data, std::size_t count) {
  static_assert(!std::is_const_v<T>, "a Buffer is written to; const_cast what is const and only sent");
  return {data, count, data_type_of<T>()};
}
template <class T>
Buffer buffer_of(std::vector<T>& values) {
  return buffer_of(values.data(), values.size());
}

/// In which order a reduction sums. Every rank gets the same bytes in any case. Canonical: each element along one fixed
/// binary tree over the ranks (pairs, then pairs of pairs), the 16-bit floats in float32 and rounded once, so that the
/// bits do not depend on algorithm, transport, bucket or kind of memory; only algorithms that can do so run.
/// On x86 neither depends on how a rank's threads round or whether they flush subnormal numbers to zero: sums are made
/// with the defaults, and each thread's own choice is as before afterwards. Elsewhere all threads must choose alike.
enum class Reduction : std::uint8_t { kFromEnvironment, kFast, kCanonical };

/// One operation as it ran, on this rank: filled in when it is complete.
struct OperationRecord {
  std::string algorithm;  ///< what ran: "auto" resolved
  int steps = 0;          ///< of its schedule; 0 in a group of one
  /// What this rank's transfers carried to its peers: over a network, or in memory that those read.
  std::uint64_t wire_bytes = 0;
  std::int64_t begun_us = 0;  ///< monotonic clock: this rank had come to it, and those before it were complete
  std::int64_t completed_us = 0;
};

/// Choices of one operation.
struct OperationOptions {
  /// An algorithm's name, "auto", what load_schedule() returned, or a name made of others':
  /// "hierarchical:LOCAL,GLOBAL", one within hosts and one between them, and "segmented:K:ALGORITHM", a pipeline of K
  /// segments (docs/guide/collectives.md). Every rank must ask for the same. "vendor" hands the whole collective to the
  /// library beneath the transport, where there is one (MPI): it combines in an order of its own, and what it makes of
  /// NaNs and of integers that overflow is its affair. Without one the operation throws kUnsupported. If such an
  /// operation ends in an error, the library may still write to its buffer, which must stay until the process ends. A
  /// group's first one may wait, once all ranks have come to it, without a deadline; wait for it before beginning
  /// another group's first one (docs/design/mpi.md).
  std::string algorithm = "auto";
  /// What this is for, in a few words ("gradients of layer3.weight, layer3.bias"): errors and traces repeat it.
  std::string purpose = {};
  /// kFromEnvironment takes LOCKSTEP_REDUCTION: "fast" (the default) or "canonical". The same on every rank.
  Reduction reduction = Reduction::kFromEnvironment;
  /// How long to wait for peers; zero takes LOCKSTEP_TIMEOUT (default 10 minutes), less is kInvalidArgument. It counts
  /// from when this rank first waits for it, or asks, with the operations before it complete: so a wait may take the
  /// sum of theirs and this. Of a pause in which the whole job was suspended an eighth of the timeout counts at most,
  /// or a second.
  std::chrono::milliseconds timeout{0};
  /// Filled in, for who wants to know; of one operation each. All of it, once the Pending is complete; not by messages.
  std::shared_ptr<OperationRecord> record = nullptr;
  /// For who computes meanwhile: where bytes only move while somebody asks for it and peers are a network away (TCP), a
  /// thread of the group's own moves this operation or message and all else that is under way, until it is complete.
  /// Elsewhere it changes nothing, nor where the system gives no thread; who waits at once gains nothing by it.
  bool in_background = false;
};

/// Memory that all ranks of the group that allocated it have mapped, where they share memory: that group's collectives
/// on it move no copies. To any other group, one that `split` makes of it too, it is memory as any other, and over TCP
/// and MPI to all. Shared ownership; the memory is returned when the last copy of this handle goes. 64-byte aligned,
/// zero-filled, `bytes()` long; one that was moved away is none, of no bytes.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  RegisteredMemory(std::shared_ptr<void> owner, std::size_t bytes) : owner_(std::move(owner)), bytes_(bytes) {}
  void* data() const { return owner_.get(); }
  std::size_t bytes() const { return owner_ ? bytes_ : 0; }
  /// Keeps the memory alive for as long as a copy of it exists (for tensors made over it).
  const std::shared_ptr<void>& owner() const { return owner_; }

 private:
  std::shared_ptr<void> owner_;
  std::size_t bytes_ = 0;
};

/// An ordered set of ranks that communicate. A cheap handle: copies refer to the same group, and to move one copies it.
/// A Pending keeps its group too, until it is known to be complete.
///
/// Every rank of the group must call the same operations in the same order, with the same counts, data types and
/// operators; ranks that disagree get an Error (kMismatch) that says who asked for what: from that operation, or, where
/// a rank waits for nobody in it (as two roots of one broadcast do), from one of the next. In a group of one every
/// operation is complete at once. After a reduction every rank holds the same bytes.
///
/// Any number of operations may be under way. They run one after the other, in the order in which they were asked for:
/// each begins once those before it are complete on this rank. Messages (send, receive) go beside them, and so do the
/// operations of other groups (split). Bytes move while some call is in the group: an operation, `progress`, `done`,
/// `wait`; else only what was asked for `in_background`.
///
/// Threads: of one group with its Pendings, one thread at a time. Different groups may be used from different threads
/// at once, a group and one that `split` made of it too; over MPI, which takes one call at a time, in turns only.
/// `allocate` may be called, and its memory released, from any thread at any time.
///
/// Blocking: the operations themselves return at once; `Pending::wait` blocks until the operation and those before it
/// are complete or the deadline of one of them has passed (OperationOptions::timeout), and throws an Error naming the
/// peer if one dies. After the first error a group is unusable and each further operation throws that error again. Who
/// waits in one group moves nothing of another: all ranks wait for operations of several groups in the same order.
///
/// Errors: an operation throws kInvalidArgument for arguments that cannot be (a null pointer with elements, a root that
/// is no rank of the group, a count that does not fit, a number that is no value of its enumeration, an algorithm that
/// there is not or that cannot do it), kUnsupported for what this transport or this many ranks cannot do and
/// kOutOfMemory where there is no memory to prepare it; nothing was sent then, and the group is as before. What goes
/// wrong later is thrown by whatever call finds it: an operation, `progress`, `done`, `wait`. That is kMismatch,
/// kPeerDied, kPeerLeft, kTimeout, kTransport (anything else that was thrown in its midst, too) or kOutOfMemory, and
/// ends the group as said: `progress` throws it then. What the operation's output holds after any of these is of no
/// use, kMismatch included: what a peer sent may be in it, but nothing beyond its end.
///
/// Any memory will do, if it is of one kind on every rank: memory from this group's `allocate` is reduced where it
/// lies, other memory goes through staging. Ranks that mix the two in one operation get kMismatch where that makes a
/// difference: small operations and some algorithms stage either, and over TCP and MPI there is one kind only.
class Group {
 public:
  explicit Group(std::shared_ptr<detail::GroupState> state);
  virtual ~Group() = default;
  /// To move copies: a handle that was moved from is as good as before.
  Group(const Group&) = default;
  Group& operator=(const Group&) = default;

  /// This rank's number in the group, from 0 to size() - 1. Local, and throws nothing.
  int rank() const;
  /// How many ranks the group has, at least 1. Local, and throws nothing.
  int size() const;
  /// The world's numbers of this group's ranks, in its order.
  std::vector<int> world_ranks() const;
  /// The host of each rank, in the group's order, numbered from 0 as they first appear. Ranks that share a kernel share
  /// a host; LOCKSTEP_HOST, a word of a rank's environment, says otherwise. Compositions ("hierarchical:direct,ring")
  /// and the order of rings follow it.
  std::vector<int> hosts() const;

  /// Groups of the ranks that give the same colour, ordered by key, then by rank here; every rank gets its own. They
  /// share nothing with each other or with this group, and their operations may run side by side; errors name their
  /// ranks, and say which of the world's these are. A rank that wants no part takes a colour of its own and is alone.
  /// Collective and blocking: all ranks of this group call it, as any other operation. Throws as World::from_env; what
  /// it would say as kInvalidArgument of this process (too few open files) is kTransport, since the others go on. A
  /// rank that dies or fails in it is an error of this group on all that are in it still, and ends this group. Only
  /// where the first rank of a colour cannot open the place where they are to meet do just the ranks of that colour
  /// throw (kTransport), and neither this group nor the other colours end.
  Group split(int colour, int key = 0) const;

  /// Every rank's buffer ends with the reduction of all ranks' buffers, element by element: each has `buffer.count`
  /// elements, any number of them.
  Pending all_reduce(Buffer buffer, ReduceOp op = ReduceOp::kSum, const OperationOptions& options = {}) const;
  /// `buffer.count` must be a multiple of size(); block r is rank r's.
  Pending reduce_scatter(Buffer buffer, ReduceOp op = ReduceOp::kSum, const OperationOptions& options = {}) const;
  /// `buffer.count` must be a multiple of size(); block r comes from rank r.
  Pending all_gather(Buffer buffer, const OperationOptions& options = {}) const;
  /// Every rank's buffer ends with what is in the root's: each has `buffer.count` elements, any number of them.
  Pending broadcast(Buffer buffer, int root = 0, const OperationOptions& options = {}) const;
  /// The root's buffer ends with the reduction; the others' are as they were, or hold partial sums.
  Pending reduce(Buffer buffer, int root = 0, ReduceOp op = ReduceOp::kSum, const OperationOptions& options = {}) const;
  /// Every rank's own block ends in its place in the root's buffer. The buffers of all ranks have size() blocks; of the
  /// others' only their own block matters.
  Pending gather(Buffer buffer, int root = 0, const OperationOptions& options = {}) const;
  /// Block r of the root's buffer ends in its place on rank r.
  Pending scatter(Buffer buffer, int root = 0, const OperationOptions& options = {}) const;
  /// Block d of rank s's `input` ends as block s of rank d's `output`. Both have `output.count` elements, a multiple of
  /// size(), and do not overlap. Over shared memory more than 181 ranks do it in memory from `allocate` only
  /// (kUnsupported): with a place for each pair of them the area that other memory passes through is full.
  Pending all_to_all(const void* input, Buffer output, const OperationOptions& options = {}) const;

  /// The same with blocks of different sizes: `counts[r]` elements for rank r, one after the other, `buffer.count` in
  /// all. Every rank gives the same size() counts, of which some may be 0; another number of them, none at all too, is
  /// kInvalidArgument.
  Pending reduce_scatter_v(Buffer buffer, const std::vector<std::size_t>& counts, ReduceOp op = ReduceOp::kSum,
                           const OperationOptions& options = {}) const;
  Pending all_gather_v(Buffer buffer, const std::vector<std::size_t>& counts,
                       const OperationOptions& options = {}) const;
  Pending gather_v(Buffer buffer, const std::vector<std::size_t>& counts, int root = 0,
                   const OperationOptions& options = {}) const;
  Pending scatter_v(Buffer buffer, const std::vector<std::size_t>& counts, int root = 0,
                    const OperationOptions& options = {}) const;

  /// `counts[s * size() + d]` elements go from rank s to rank d: `input` holds this rank's row of blocks, one after the
  /// other, `output` takes its column; they do not overlap. Every rank gives the same size() * size() counts, of which
  /// some may be 0; another number of them, none at all too, is kInvalidArgument. Over shared memory every buffer goes
  /// through staging, one from `allocate` too, and so 181 ranks at most can do it (kUnsupported).
  Pending all_to_all_v(const void* input, Buffer output, const std::vector<std::size_t>& counts,
                       const OperationOptions& options = {}) const;

  /// Complete once every rank of the group has come to it. It carries no elements. Of the options `reduction` means
  /// nothing.
  Pending barrier(const OperationOptions& options = {}) const;

  /// A message from one rank to another. Those from one rank to another are received in the order in which they are
  /// sent; otherwise neither messages nor collectives wait for each other, and the ranks that have no part in it know
  /// nothing of it. Sender and receiver give the same count and data type, or the receiver gets kMismatch. `to` and
  /// `from` are other ranks of this group. Of the options `purpose`, `timeout` and `in_background` count.
  ///
  /// A send is complete when its buffer may be used again, which does not say that the receiver has come: what fits is
  /// buffered on the way: 128 KiB from each rank to each other in shared memory and over MPI, over TCP what the
  /// sockets' buffers hold, with 16 bytes a message. It is not written to. Two ranks that both wait for a larger send
  /// before they receive wait for each other until the timeout: start both, then wait.
  Pending send(Buffer buffer, int to, const OperationOptions& options = {}) const;
  Pending receive(Buffer buffer, int from, const OperationOptions& options = {}) const;

  /// The name of the algorithm that this operation would run on a buffer of so many bytes, which is `registered` if
  /// this group's allocate() made it: what "auto" stands for there. Throws kInvalidArgument for a name that no
  /// algorithm has, or one that does not do it. Local.
  std::string algorithm_for(Collective collective, std::size_t bytes, const OperationOptions& options = {},
                            DataType dtype = DataType::kFloat32, bool registered = true) const;

  /// Takes in a schedule in its text form (as `lockstep show --format schedule` writes it), proves it, and returns the
  /// name under which OperationOptions::algorithm then runs it in this group. Every rank must load the same text.
  /// Local. Throws kRefused naming line, or rank, chunk and step; kInvalidArgument if it is for another number of
  /// ranks.
  std::string load_schedule(const std::string& text) const;

  /// `bytes` of memory that all ranks of this group see where they share memory, and ordinary memory elsewhere; 0 is
  /// allowed. Local, and from any thread: ranks need not allocate the same. Throws kOutOfMemory, and kInvalidArgument
  /// in a process that was forked from the rank's.
  RegisteredMemory allocate(std::size_t bytes) const;

  /// Moves every operation under way as far as it goes without waiting. Call it from a thread that computes, between
  /// pieces of work, so that what peers are ready for does not wait for the end. True when nothing is under way. Throws
  /// Error: what an operation or a message under way has failed with, a deadline that has passed too, and from then on
  /// the same error at each call.
  bool progress() const;

  /// A value of type T that belongs to this group on this rank, made at first use; layers above keep state here
  /// (as MPI_Comm_set_attr does).
  template <class T>
  T& attribute() const {
    auto& slot = attribute_slot(typeid(T));
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

 protected:
  std::shared_ptr<void>& attribute_slot(std::type_index type) const;
  std::shared_ptr<detail::GroupState> state_;
};

}  // namespace lockstep
