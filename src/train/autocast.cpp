#include <ATen/autocast_mode.h>
#include <lockstep/mixed_precision.h>
#include <torch/version.h>

namespace lockstep {
namespace {

// libtorch 1.13 has functions for the CPU, newer ones take the device.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool is_enabled() { return at::autocast::is_autocast_enabled(at::kCPU); }
void enable(bool on) { at::autocast::set_autocast_enabled(at::kCPU, on); }
at::ScalarType dtype() { return at::autocast::get_autocast_dtype(at::kCPU); }
void set_dtype(at::ScalarType type) { at::autocast::set_autocast_dtype(at::kCPU, type); }
#else
bool is_enabled() { return at::autocast::is_cpu_enabled(); }
void enable(bool on) { at::autocast::set_cpu_enabled(on); }
at::ScalarType dtype() { return at::autocast::get_autocast_cpu_dtype(); }
void set_dtype(at::ScalarType type) { at::autocast::set_autocast_cpu_dtype(type); }
#endif

}  // namespace

Autocast::Autocast() : was_enabled_(is_enabled()), dtype_before_(dtype()) {
  at::autocast::increment_nesting();
  set_dtype(torch::kBFloat16);
  enable(true);
}

Autocast::~Autocast() {
  // Casts of parameters are kept for the length of a forward pass: the next one must see what the optimizer did.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  enable(was_enabled_);
  set_dtype(dtype_before_);
}

}  // namespace lockstep
