#pragma once

#include <lockstep/types.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace lockstep {

/// What a collective is about, for a library that does it as a whole; the members as Task's (group/task.h).
struct VendorTask {
  Collective collective = Collective::kBarrier;
  DataType dtype = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  ///< not kMean
  int root = 0;
  std::size_t count = 0;                  ///< elements of the buffer
  std::vector<std::size_t> block_counts;  ///< of each rank's block, or each pair's, where they differ
};

/// A collective of one shape, done by the library beneath a transport; begun again and again.
class VendorCollective {
 public:
  virtual ~VendorCollective() = default;

  /// Every rank of the group does, in the same order; they have met. The group's first may wait for all of them,
  /// without a deadline. Nobody can take it back: until it is complete, or the process ends, the memory is the
  /// library's. Throws Error (kTransport) with what the library says.
  virtual void begin(const void* input, void* output) = 0;
  /// Whether it is complete. Moves it on.
  virtual bool test() = 0;
};

/// The library beneath a transport, where it has collectives of its own.
class Vendor {
 public:
  virtual ~Vendor() = default;
  /// Throws Error (kUnsupported) for what the library does not do.
  virtual std::unique_ptr<VendorCollective> prepare(const VendorTask& task) = 0;
};

}  // namespace lockstep
