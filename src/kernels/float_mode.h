#pragma once

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace lockstep::kernels {

/// What this thread has set, in one word; elsewhere than on x86 it is not known, and 0 stands for it.
#ifdef __SSE__
inline unsigned float_mode() { return _mm_getcsr(); }
inline void set_float_mode(unsigned mode) { _mm_setcsr(mode); }
#else
inline unsigned float_mode() { return 0; }
inline void set_float_mode(unsigned) {}
#endif

/// While it lives, this thread rounds to nearest even and keeps subnormal numbers, whatever its caller has set; then it
/// is as before. The caller's exceptions stay as they are. Where nothing else was set it costs one read of a register.
///
/// x86 only: elsewhere what the thread has set holds.
class DefaultFloatMode {
 public:
  DefaultFloatMode() {
    if ((before_ & kMode) != 0) set_float_mode(before_ & ~kMode);
  }
  ~DefaultFloatMode() {
    if ((before_ & kMode) != 0) set_float_mode(before_);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  /// Flush to zero, both bits of the rounding, subnormals as zero; 0 in all of them is the default.
  static constexpr unsigned kMode = 0x8000U | 0x6000U | 0x0040U;
  unsigned before_ = float_mode();
};

}  // namespace lockstep::kernels
