#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::shm {

inline constexpr std::size_t kPage = 4096;

/// What one entry of a processor's address translation covers where the system makes huge pages: of x86-64, and of
/// aarch64 with pages of 4 KiB. Elsewhere none are made.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// How many bytes come before the next boundary between huge pages.
inline std::size_t bytes_before_huge(const void* address) {
  return (kHugePage - reinterpret_cast<std::uintptr_t>(address) % kHugePage) % kHugePage;
}

/// Makes the pages of [data, data + bytes) present in a shared mapping, so that a lack of memory is an error now and
/// not a signal later: false if there is one. Huge are those that lie in it as a whole. What is there stays.
///
/// They are asked for (MADV_COLLAPSE, Linux 6.1), which works whatever the system's setting for shared memory is, on
/// most `never`; where the system makes none, small pages are as good but for time (docs/design/runtime.md).
bool populate(std::byte* data, std::size_t bytes);

}  // namespace lockstep::shm
