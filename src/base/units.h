#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// "64KiB", "25MiB", "1GB", "512": bytes. Throws Error (kInvalidArgument) that repeats the text.
std::uint64_t parse_bytes(std::string_view text);
/// "5us", "2ms", "1.5s": a duration. Throws Error (kInvalidArgument).
std::chrono::nanoseconds parse_duration(std::string_view text);
/// "0.5us", "80ns": seconds, with their fractions of a nanosecond. Throws Error (kInvalidArgument).
double parse_seconds(std::string_view text);
/// "10GB/s", "100Gbit/s": bytes a second, more than 0. Throws Error (kInvalidArgument).
double parse_bandwidth(std::string_view text);
/// "0.1ns/B": seconds a byte. Throws Error (kInvalidArgument).
double parse_seconds_per_byte(std::string_view text);

/// The shortest exact or three-digit form: "64 KiB", "1.5 MiB", "12 B".
std::string format_bytes(std::uint64_t bytes);
/// The same of what may be more than 2^64, rounded to whole bytes.
std::string format_rounded_bytes(double bytes);
/// Three digits: "12.5 us", "1.20 s".
std::string format_seconds(double seconds);
/// "2m 05s", "12s": for people who wait.
std::string format_wait(std::chrono::seconds duration);
/// "2 steps", "1 step".
std::string counted(std::uint64_t count, std::string_view thing);
/// 1234567 as "1,234,567".
std::string format_count(std::uint64_t count);

}  // namespace lockstep
