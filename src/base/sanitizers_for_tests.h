#pragma once

#include <string_view>

// As it was said to CMake: by what macros compilers say it themselves differs.
#ifndef LOCKSTEP_SANITIZE
#define LOCKSTEP_SANITIZE ""
#endif

namespace lockstep::testing_support {

inline constexpr std::string_view kSanitizers = LOCKSTEP_SANITIZE;
inline constexpr bool kUnderAddressSanitizer = kSanitizers.find("address") != std::string_view::npos;
inline constexpr bool kUnderThreadSanitizer = kSanitizers.find("thread") != std::string_view::npos;

/// Whether a test may leave its process without descriptors, and why not: UBSan, which runs beside AddressSanitizer,
/// opens a pipe to see whether it may read an object, and calls the object invalid where it cannot.
inline constexpr bool kDescriptorsCanBeDenied = !kUnderAddressSanitizer;
inline constexpr const char* kWhyNotDenied = "the sanitizers need descriptors themselves";

/// Whether a test may fork beside other threads, and why not.
inline constexpr bool kForksBesideThreads = !kUnderThreadSanitizer;
inline constexpr const char* kWhyNotForked = "ThreadSanitizer follows no fork beside threads";

}  // namespace lockstep::testing_support
