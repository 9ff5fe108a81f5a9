// liblockstep-mpi.so: collectives that MPI does as a whole.
#include "transport/mpi/mpi_state.h"

#include <cstddef>

namespace lockstep::mpi {

namespace {

/// A type of as many bytes will do for what is only moved.
MPI_Datatype type_of(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32: return MPI_FLOAT;
    case DataType::kFloat64: return MPI_DOUBLE;
    case DataType::kBFloat16:
    case DataType::kFloat16: return MPI_UINT16_T;
    case DataType::kInt32: return MPI_INT32_T;
    case DataType::kInt64: return MPI_INT64_T;
    case DataType::kUInt8: return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin: return MPI_MIN;
    case ReduceOp::kMax: return MPI_MAX;
    case ReduceOp::kProduct: return MPI_PROD;
    case ReduceOp::kSum:
    case ReduceOp::kMean: return MPI_SUM;
  }
  return MPI_OP_NULL;
}

/// One rank's part in one collective.
struct Part {
  const WholeCollective& what;
  MPI_Comm communicator;
  MPI_Request* request;
  int rank = 0;

  MPI_Datatype type() const { return type_of(what.dtype); }
  MPI_Op op() const { return op_of(what.op); }
  bool is_root() const { return rank == what.root; }
  void* own_block() const {
    return static_cast<std::byte*>(what.output) + static_cast<std::size_t>(what.offsets[rank]) * size_of(what.dtype);
  }
};

int reduce(const Part& part) {
  const void* const input = part.is_root() ? MPI_IN_PLACE : part.what.output;
  void* const output = part.is_root() ? part.what.output : nullptr;
  return MPI_Ireduce(input, output, part.what.count, part.type(), part.op(), part.what.root, part.communicator,
                     part.request);
}

int gather(const Part& part) {
  const WholeCollective& what = part.what;
  const void* const input = part.is_root() ? MPI_IN_PLACE : part.own_block();
  return MPI_Igatherv(input, what.counts[part.rank], part.type(), what.output, what.counts, what.offsets, part.type(),
                      what.root, part.communicator, part.request);
}

int scatter(const Part& part) {
  const WholeCollective& what = part.what;
  void* const output = part.is_root() ? MPI_IN_PLACE : part.own_block();
  return MPI_Iscatterv(what.output, what.counts, what.offsets, part.type(), output, what.counts[part.rank], part.type(),
                       what.root, part.communicator, part.request);
}

int begin(const Part& part) {
  const WholeCollective& what = part.what;
  switch (what.collective) {
    case Collective::kAllReduce:
      return MPI_Iallreduce(MPI_IN_PLACE, what.output, what.count, part.type(), part.op(), part.communicator,
                            part.request);
    case Collective::kReduceScatter:
      return MPI_Ireduce_scatter(what.input, what.output, what.counts, part.type(), part.op(), part.communicator,
                                 part.request);
    case Collective::kAllGather:
      return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, what.output, what.counts, what.offsets, part.type(),
                             part.communicator, part.request);
    case Collective::kBroadcast:
      return MPI_Ibcast(what.output, what.count, part.type(), what.root, part.communicator, part.request);
    case Collective::kReduce: return reduce(part);
    case Collective::kGather: return gather(part);
    case Collective::kScatter: return scatter(part);
    case Collective::kAllToAll:
      return MPI_Ialltoallv(what.input, what.input_counts, what.input_offsets, part.type(), what.output, what.counts,
                            what.offsets, part.type(), part.communicator, part.request);
    case Collective::kBarrier: return MPI_Ibarrier(part.communicator, part.request);
  }
  return MPI_ERR_ARG;
}

}  // namespace

const char* make_communicator(int* communicator, const int* ranks, int size, int tag) {
  const std::lock_guard lock(state().mutex);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  if (const char* const fault = said(MPI_Comm_group(state().communicator, &all))) return fault;
  int code = MPI_Group_incl(all, size, ranks, &some);
  if (code == MPI_SUCCESS) code = MPI_Comm_create_group(state().communicator, some, tag, &made);
  if (some != MPI_GROUP_NULL) MPI_Group_free(&some);
  MPI_Group_free(&all);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  if (const char* const fault = said(code)) return fault;
  *communicator = static_cast<int>(state().groups.size());
  state().groups.push_back(made);
  return nullptr;
}

const char* begin(Request* request, int communicator, const WholeCollective* what) {
  const std::lock_guard lock(state().mutex);
  MPI_Request handle = MPI_REQUEST_NULL;
  Part part{*what, state().groups[static_cast<std::size_t>(communicator)], &handle};
  if (const char* const fault = said(MPI_Comm_rank(part.communicator, &part.rank))) return fault;
  const char* const fault = said(begin(part));
  store(*request, handle);
  return fault;
}

}  // namespace lockstep::mpi
