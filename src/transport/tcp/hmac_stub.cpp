// Stands in where OpenSSL's libcrypto is absent.
#include "transport/tcp/hmac.h"

#include <lockstep/error.h>

namespace lockstep::tcp {

bool hmac_is_built_in() { return false; }

Digest hmac(const Secret& /*secret*/, std::span<const std::byte> /*text*/) {
  throw Error(ErrorCode::kUnsupported,
              "This build has no TCP transport, because OpenSSL was not found (libssl-dev); build it again with it.");
}

bool same(const Digest& /*a*/, const Digest& /*b*/) { return false; }

}  // namespace lockstep::tcp
