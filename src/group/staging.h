#pragma once

#include "transport/transport.h"

#include <lockstep/group.h>

#include <utility>
#include <vector>

namespace lockstep {

/// Registered memory that stands in for buffers in plain memory. Pieces are kept and used again: making pages costs
/// more than copying them. One thread at a time.
class StagingPool {
 public:
  explicit StagingPool(Transport& transport) : transport_(transport) {}
  RegisteredMemory take(std::size_t bytes);
  void give_back(RegisteredMemory memory) { free_.push_back(std::move(memory)); }

 private:
  Transport& transport_;
  std::vector<RegisteredMemory> free_;
};

/// A collective's buffer as its peers can see it: where it lies if that is registered memory, else a copy in staging,
/// from which `bring_home` copies the result back.
class StagedBuffer {
 public:
  StagedBuffer(StagingPool& pool, Transport& transport, Collective collective, Buffer buffer);
  std::uint64_t offset() const { return offset_; }
  void bring_home();

 private:
  /// This rank's own block of a buffer of blocks, in bytes.
  std::pair<std::size_t, std::size_t> own_block() const;

  StagingPool* pool_;
  Transport* transport_;
  Collective collective_;
  Buffer buffer_;
  std::uint64_t offset_ = 0;
  RegisteredMemory staging_;
};

}  // namespace lockstep
