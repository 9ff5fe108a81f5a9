#include "base/units.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace lockstep {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 11> kByteUnits{{{"", 1},
                                           {"B", 1},
                                           {"KiB", 1024.0},
                                           {"MiB", 1024.0 * 1024},
                                           {"GiB", 1024.0 * 1024 * 1024},
                                           {"TiB", 1024.0 * 1024 * 1024 * 1024},
                                           {"KB", 1e3},
                                           {"kB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12}}};
constexpr std::array<Unit, 5> kTimeUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}}};
constexpr std::array<Unit, 8> kBandwidthUnits{{{"GB/s", 1e9},
                                               {"GiB/s", 1024.0 * 1024 * 1024},
                                               {"MB/s", 1e6},
                                               {"MiB/s", 1024.0 * 1024},
                                               {"Gbit/s", 1.25e8},
                                               {"Mbit/s", 1.25e5},
                                               {"Gbps", 1.25e8},
                                               {"Mbps", 1.25e5}}};
constexpr std::array<Unit, 3> kPerByteUnits{{{"ns/B", 1e-9}, {"us/B", 1e-6}, {"ps/B", 1e-12}}};

template <std::size_t N>
double parse_with_unit(std::string_view text, const std::array<Unit, N>& units, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && std::isfinite(value) && value >= 0) {
    std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    for (const Unit& unit : units) {
      // Nothing that people measure here passes 2^63.
      if (rest == unit.name && value * unit.factor < 9.2e18) return value * unit.factor;
    }
  }
  throw Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is not {}.", text, what));
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  constexpr std::string_view kWhat = "a size; write it like 64KiB, 25MiB or 1GB";
  const double bytes = parse_with_unit(text, kByteUnits, kWhat);
  const double whole = std::round(bytes);
  if (std::abs(bytes - whole) > 1e-12 * bytes) {  // 1.1GB is whole, and rounded when multiplied
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no whole number of bytes; it is not {}.", text, kWhat));
  }
  return static_cast<std::uint64_t>(whole);
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(parse_with_unit(text, kTimeUnits, "a time; write it like 5us, 2ms or 10s")));
}

double parse_seconds(std::string_view text) {
  return 1e-9 * parse_with_unit(text, kTimeUnits, "a time; write it like 5us, 2ms or 10s");
}

double parse_bandwidth(std::string_view text) {
  constexpr std::string_view kWhat = "a bandwidth above 0; write it like 10GB/s or 100Gbit/s";
  const double value = parse_with_unit(text, kBandwidthUnits, kWhat);
  if (value > 0 && std::isfinite(1 / value)) return value;  // a byte takes a time that can be told
  throw Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is not {}.", text, kWhat));
}

double parse_seconds_per_byte(std::string_view text) {
  return parse_with_unit(text, kPerByteUnits, "a time a byte; write it like 0.1ns/B");
}

std::string format_seconds(double seconds) {
  struct Step {
    double unit;
    const char* name;
  };
  static constexpr std::array<Step, 3> kSteps{{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}}};
  Step chosen{1, "s"};
  for (const Step& step : kSteps) {
    if (seconds >= 999.5 * step.unit) continue;
    chosen = step;
    break;
  }
  const double value = seconds / chosen.unit;
  const int decimals = value == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, chosen.name);
}

std::string format_bytes(std::uint64_t bytes) { return format_rounded_bytes(static_cast<double>(bytes)); }

std::string format_rounded_bytes(double bytes) {
  static constexpr std::array<const char*, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = std::round(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value,
                     value == std::floor(value) || value >= 100 ? 0
                     : value >= 10                              ? 1
                                                                : 2,
                     kNames[unit]);
}

std::string format_wait(std::chrono::seconds duration) {
  const auto seconds = duration.count();
  if (seconds >= 3600) return fmt::format("{}h {:02}m", seconds / 3600, seconds / 60 % 60);
  if (seconds >= 60) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}s", seconds);
}

std::string counted(std::uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

}  // namespace lockstep
