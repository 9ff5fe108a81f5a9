#pragma once

#include <lockstep/group.h>

namespace lockstep::bench {

/// What stands in a block of a rank's buffer.
struct Content {
  enum class Kind {
    kNothing,       ///< before: a filling that no result may hold; after: anything
    kContribution,  ///< what `rank` brought in its `block`
    kReduced,       ///< the reduction of all ranks' `block`
  };
  Kind kind = Kind::kNothing;
  int rank = 0;
  int block = 0;
};

/// Where a block lies.
struct Place {
  int rank;
  int block;
  int root;
  bool output = false;  ///< of what comes out, where that lies apart
};

/// How an operation is to run; what a collective does not have is not looked at.
struct Choices {
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  OperationOptions options = {};
};

/// What measuring must know of a collective: a line of the table in collectives.cpp. A new one needs a new line, and
/// nothing else here.
struct CollectiveFacts {
  Collective collective;
  bool in_blocks;   ///< the buffer has a block for each rank, and its count is a multiple of them; else it is one block
  bool repeatable;  ///< its result is wholly defined, so that the same buffer can go in again
  bool in_place;    ///< else what comes out lies right behind the buffer that goes in, and is as long
  Content (*before)(const Place&);
  Content (*after)(const Place&);
  /// Bus bandwidth over algorithm bandwidth on `ranks`, as nccl-tests defines it: what each link would have to carry.
  double (*bus_factor)(double ranks);
  Pending (*start)(const Group&, Buffer, const Choices&);
};

const CollectiveFacts& facts_of(Collective collective);

/// The most that is no more than `bytes` and whole elements, of which each rank's block has as many; at least one each.
std::size_t whole_bytes(Collective collective, std::size_t bytes, DataType dtype, int ranks);

}  // namespace lockstep::bench
