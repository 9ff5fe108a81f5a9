#pragma once

namespace lockstep::testing_support {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kUnderAddressSanitizer = true;
#else
inline constexpr bool kUnderAddressSanitizer = false;
#endif
#ifdef __SANITIZE_THREAD__
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

/// Whether a test may leave its process without descriptors, and why not: UBSan, which runs beside AddressSanitizer,
/// opens a pipe to see whether it may read an object, and calls the object invalid where it cannot.
inline constexpr bool kDescriptorsCanBeDenied = !kUnderAddressSanitizer;
inline constexpr const char* kWhyNotDenied = "the sanitizers need descriptors themselves";

/// Whether a test may fork beside other threads, and why not.
inline constexpr bool kForksBesideThreads = !kUnderThreadSanitizer;
inline constexpr const char* kWhyNotForked = "ThreadSanitizer follows no fork beside threads";

}  // namespace lockstep::testing_support
