#pragma once

#include "bench/pattern.h"

#include <cstddef>
#include <cstdint>

namespace lockstep::bench {

/// How buffers of one size lie in a rank's memory.
struct Layout {
  std::size_t slots = 1;   ///< buffers
  std::size_t stride = 0;  ///< bytes from one to the next
  std::size_t gap = 0;     ///< the last of them, which belong to no buffer
  int uses = 1;            ///< how often each goes in before it is filled again

  std::size_t bytes() const { return slots * stride; }
  /// Operations from one filling to the next.
  std::size_t operations() const { return slots * static_cast<std::size_t>(uses); }
};

/// Warm: one buffer, again and again, if its collective allows that, else a few. Cold: so many that between the filling
/// of one and its use, twice the cache's size of others, and of what lies between them, was written.
Layout make_layout(const Pattern& pattern, bool cold, std::size_t cache_bytes);

/// The buffers that operations of one size work on, in turn.
class Operands {
 public:
  virtual ~Operands() = default;
  /// Before a batch of so many operations, outside of what is timed.
  virtual void prepare(std::size_t operations) = 0;
  /// The buffer for the next operation.
  virtual Buffer next() = 0;
};

/// Operands that are filled before they go in.
class FilledOperands : public Operands {
 public:
  /// `memory` holds layout.bytes() and outlives this.
  FilledOperands(Pattern pattern, const Layout& layout, void* memory);

  const Layout& layout() const { return layout_; }
  /// Makes sure that the next `operations` buffers are filled, by this rank, as gradients are when they are reduced. At
  /// most layout().operations().
  void prepare(std::size_t operations) override;
  Buffer next() override;

 protected:
  const Pattern& pattern() const { return pattern_; }
  unsigned char* slot(std::size_t index) const { return memory_ + index * layout_.stride; }
  bool suffices_for(std::size_t operations) const {
    return layout_.slots > 1 && filled_ && used_ + operations <= layout_.operations();
  }
  /// Operations since the buffers were filled.
  std::size_t used() const { return used_; }
  /// They are not to go in again as they are.
  void spend();

 private:
  void write_gaps();

  Pattern pattern_;
  Layout layout_;
  unsigned char* memory_;
  std::size_t used_ = 0;
  bool filled_ = false;
};

/// Operands that are filled, and checked before they are filled anew.
class Workload final : public FilledOperands {
 public:
  using FilledOperands::FilledOperands;

  /// Checks what came of the buffers before, too.
  void prepare(std::size_t operations) override;
  /// Checks what was not checked yet; elements that were wrong since the last call.
  std::uint64_t take_wrong();

 private:
  void check();

  std::uint64_t wrong_ = 0;
};

}  // namespace lockstep::bench
