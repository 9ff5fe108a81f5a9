#pragma once

namespace lockstep::shm {

/// A full memory fence between two processes of which one pays for both. Who often stores and then loads puts
/// `light_fence` in between, which costs nothing; who seldom does puts `heavy_fence`, some microseconds, which makes
/// every running thread of a process that has called `light_fence` once pass through a full fence. Then at least one of
/// the two sees what the other stored. Where the kernel cannot (before Linux 4.16), the light fence is a full one.
void light_fence();
void heavy_fence();

}  // namespace lockstep::shm
