#pragma once

namespace lockstep::testing_support {

/// Two racks of two hosts of one rank, 1 GB/s everywhere: two hosts of a rack share its way up.
inline constexpr const char* kTwoRacksOfTwo = R"(
[[rack]]
name = "a"
uplink = { bandwidth = "1GB/s" }
[[rack]]
name = "b"
uplink = { bandwidth = "1GB/s" }
[[host]]
count = 2
rack = "a"
nic = { bandwidth = "1GB/s" }
[[host]]
count = 2
rack = "b"
nic = { bandwidth = "1GB/s" }
)";

}  // namespace lockstep::testing_support
