#include "transport/tcp/send_buffer.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace lockstep::tcp {

namespace {

std::string text_of(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::optional<int> send_buffer_bytes(const std::string& wmem_max, const std::string& tcp_wmem) {
  long long asked = 0;
  long long least = 0;
  long long first = 0;
  long long grown = 0;
  if (!(std::istringstream(wmem_max) >> asked) || !(std::istringstream(tcp_wmem) >> least >> first >> grown)) return {};
  constexpr long long kMost = 16 << 20;
  if (asked > kMost) asked = kMost;
  if (2 * asked <= grown) return {};
  return static_cast<int>(asked);
}

std::optional<int> send_buffer_bytes(bool takes_turns) {
  constexpr int kNearACore = 512 << 10;
  if (takes_turns) return kNearACore;
  static const auto kHere =
      send_buffer_bytes(text_of("/proc/sys/net/core/wmem_max"), text_of("/proc/sys/net/ipv4/tcp_wmem"));
  return kHere;
}

}  // namespace lockstep::tcp
