#pragma once

#include "base/secret.h"

#include <array>
#include <cstddef>
#include <span>

namespace lockstep::tcp {

using Digest = std::array<unsigned char, 32>;

/// Whether this build can prove who somebody is, without which nothing here opens a socket.
bool hmac_is_built_in();
/// HMAC-SHA256 of `text` under `secret`. Throws Error (kUnsupported) where it is not built in.
Digest hmac(const Secret& secret, std::span<const std::byte> text);
/// In a time that does not depend on where they differ.
bool same(const Digest& a, const Digest& b);

}  // namespace lockstep::tcp
