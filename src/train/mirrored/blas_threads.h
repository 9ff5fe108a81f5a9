#pragma once

namespace lockstep::detail {

/// Tells OpenBLAS, where libtorch multiplies by it, how many threads compute a product; does nothing elsewhere. Of the
/// process, not of a thread: OpenBLAS has one pool, for which products of several threads would wait, spinning. Not
/// while another thread multiplies.
void set_blas_threads(int threads);

}  // namespace lockstep::detail
