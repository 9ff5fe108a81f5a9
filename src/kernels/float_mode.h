#pragma once

#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#define LOCKSTEP_HAS_FLOAT_MODE 1
#else
#define LOCKSTEP_HAS_FLOAT_MODE 0
#endif

namespace lockstep::kernels {

/// While it lives, this thread rounds to nearest even and keeps subnormal numbers, whatever its caller has set; then it
/// is as before. The caller's exceptions stay as they are. Where nothing else was set it costs one read of a register.
///
/// x86 only: elsewhere what the thread has set holds.
class DefaultFloatMode {
 public:
  DefaultFloatMode() {
#if LOCKSTEP_HAS_FLOAT_MODE
    if ((before_ & kMode) != 0) _mm_setcsr(before_ & ~kMode);
#endif
  }
  ~DefaultFloatMode() {
#if LOCKSTEP_HAS_FLOAT_MODE
    if ((before_ & kMode) != 0) _mm_setcsr(before_);
#endif
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if LOCKSTEP_HAS_FLOAT_MODE
  /// Flush to zero, both bits of the rounding, subnormals as zero; 0 in all of them is the default.
  static constexpr unsigned kMode = 0x8000U | 0x6000U | 0x0040U;
  unsigned before_ = _mm_getcsr();
#endif
};

}  // namespace lockstep::kernels
