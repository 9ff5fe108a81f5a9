#pragma once

#include "tests/conformance/inputs.h"

#include <lockstep/world.h>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace lockstep::conformance {

/// One operation, the same on all ranks.
struct Case {
  Collective collective = Collective::kAllReduce;
  std::string algorithm = "auto";
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  std::vector<std::size_t> blocks;  ///< elements of each: one a rank where the collective has blocks, else one in all
  std::size_t first = 0;            ///< which element of what the ranks bring the buffer begins with
  bool by_counts = false;           ///< asks for the variant that takes the blocks' sizes
  bool registered = false;
  Values values = Values::kExact;
  Reduction reduction = Reduction::kFast;
  bool in_background = false;

  std::size_t count() const;
};
std::ostream& operator<<(std::ostream& out, const Case& one);

/// What the suite must know of a collective: a line of the table in trial.cpp.
struct Facts {
  /// What a block holds in the end, if it is no rank's contribution.
  static constexpr int kReduced = -1;
  static constexpr int kAnything = -2;

  Collective collective;
  bool in_blocks;     ///< one block a rank
  bool takes_counts;  ///< there is a variant for blocks of different sizes
  /// The rank whose contribution the block holds in the end on `rank`, or kReduced, or kAnything.
  int (*source)(int rank, int root, int block);
  Pending (*start)(const Group&, const Case&, const void* input, Buffer buffer, const OperationOptions&);

  bool sums() const { return source(0, 0, 0) == kReduced; }
};
const Facts& facts_of(Collective collective);
const std::vector<Facts>& all_facts();

/// One rank's part in a case: its memory, what it brings, and whether what came is right.
class Trial {
 public:
  /// Bytes of memory that a case needs.
  static std::size_t bytes_for(const Case& one);

  /// `memory` has bytes_for(one) bytes and outlives this.
  Trial(const Group& group, const Inputs& inputs, const Case& one, void* memory);

  /// Fills the buffers and starts the operation.
  void start();
  /// The same; false where canonical mode does not admit the algorithm.
  bool start_if_admitted();
  /// Completes it. Throws std::runtime_error that names the case, the element and what stands there, unless all that
  /// the collective promises is there byte for byte and nothing around it was touched. Where the order of a sum shows
  /// and is nobody's promise, sums are not looked at.
  void finish();
  /// The buffer's bytes in one number.
  std::uint64_t digest() const;

 private:
  unsigned char* place_buffer(unsigned char* from) const;
  void check_block(int block, std::size_t begin, std::size_t count) const;
  void check_guards(const unsigned char* buffer, const char* which) const;
  [[noreturn]] void fail(const std::string& why) const;
  bool is_promised() const;

  const Group& group_;
  const Inputs& inputs_;
  Case case_;
  const Facts& facts_;
  unsigned char* output_;
  unsigned char* input_;  ///< the output where the operation is in place
  Pending pending_;
};

}  // namespace lockstep::conformance
