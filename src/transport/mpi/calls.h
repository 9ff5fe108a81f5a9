#pragma once

#include <lockstep/types.h>

#include <cstddef>

/// What Lockstep asks of an MPI library, as plain functions: the border between lockstep::comm, which knows no MPI, and
/// liblockstep-mpi.so, which knows nothing else and is opened only by those who use it (docs/design/mpi.md).
namespace lockstep::mpi {

/// Room for an MPI_Request of any MPI.
struct Request {
  void* value = nullptr;
};

/// A message to a rank of Lockstep's communicator.
struct Outgoing {
  const void* data = nullptr;
  std::size_t bytes = 0;
  int to = 0;
  int tag = 0;
  int synchronous = 0;
};

/// A collective that MPI does as a whole. Counts and offsets are elements: where blocks belong to ranks, one of each a
/// rank. In place but for all_to_all, and for reduce_scatter, whose `output` takes this rank's block.
struct WholeCollective {
  Collective collective = Collective::kBarrier;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  ///< not kMean
  int root = 0;
  int count = 0;
  const void* input = nullptr;
  void* output = nullptr;
  const int* counts = nullptr;
  const int* offsets = nullptr;
  const int* input_counts = nullptr;  ///< of an all_to_all; the others are of its output
  const int* input_offsets = nullptr;
};

struct Started {
  int rank = 0;
  int size = 0;
  int most_tag = 0;
};

/// Ranks are MPI_COMM_WORLD's, in a communicator of our own. What returns a text gives a null pointer, or what went
/// wrong, to be read before the same thread's next call. One call at a time: a lock inside sees to it.
struct Calls {
  /// Initialises MPI (MPI_THREAD_SERIALIZED) unless somebody has, and sees that others' initialisation has that level.
  /// The process's end finalises what was initialised here. Waits for all ranks at most so long.
  const char* (*start)(Started* started, long timeout_ms);
  /// Begins to send; complete once a receive has begun to take it, if it is synchronous.
  const char* (*send)(Request* request, const Outgoing* message);
  /// Begins to receive at most so many bytes; from anybody where `from` is -1.
  const char* (*receive)(Request* request, void* data, std::size_t bytes, int from, int tag);
  /// Whether it is complete; then how much came, and from whom.
  const char* (*test)(Request* request, int* complete, std::size_t* bytes, int* from);
  /// Gives up a receive. 1 if nothing is written to its memory any more; 0 where a message is on its way into it: then
  /// the memory stays MPI's for ever. Waits for nobody for long.
  int (*cancel_receive)(Request* request);
  /// Forgets a send. 1 if it was complete; 0 where its memory stays MPI's for ever.
  int (*forget_send)(Request* request);
  /// Makes a communicator of these ranks, which all of them call; blocks until they have. Numbers it from 0.
  const char* (*make_communicator)(int* communicator, const int* ranks, int size, int tag);
  /// Begins a collective there, which every rank of it does, in the same order; nobody can give it up.
  const char* (*begin)(Request* request, int communicator, const WholeCollective* what);
  /// Counts what has to be left in good order. With anything left open the process's end waits for nobody for long.
  void (*count_open)(int change);
};

/// The one symbol of liblockstep-mpi.so. The number changes with this struct.
inline constexpr const char* kCallsSymbol = "lockstep_mpi_calls_3";

}  // namespace lockstep::mpi
