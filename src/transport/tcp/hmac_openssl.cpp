#include "transport/tcp/hmac.h"

#include <lockstep/error.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace lockstep::tcp {

bool hmac_is_built_in() { return true; }

Digest hmac(const Secret& secret, std::span<const std::byte> text) {
  Digest digest{};
  unsigned int bytes = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), secret.bytes().data(), static_cast<int>(secret.bytes().size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &bytes);
  if (done == nullptr || bytes != digest.size()) {
    throw Error(ErrorCode::kTransport, "OpenSSL could not compute an HMAC-SHA256.");
  }
  return digest;
}

bool same(const Digest& a, const Digest& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace lockstep::tcp
