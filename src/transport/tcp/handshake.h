#pragma once

#include "base/secret.h"
#include "transport/meeting.h"
#include "transport/tcp/hmac.h"
#include "transport/tcp/tcp_socket.h"

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

namespace lockstep::tcp {

/// What makes a process one of the job. Without a secret it is the all-zero one, and listening elsewhere than on
/// loopback is refused (join.h).
struct Credentials {
  Secret secret;
  std::string job;  ///< tells jobs apart that share a secret, or have none
};

/// Three connections join each two ranks. Over the first goes what must arrive though the others are full: that a rank
/// leaves, or fails, and the end of its process. What collectives move goes over the second, and over the third what
/// one rank sends to the other, which the other may not want yet.
enum class Channel : std::uint32_t { kControl, kData, kMessages };
constexpr int kChannels = 3;

/// The three messages in which both sides of a connection prove that they know the job's secret. Nothing else is read
/// before, and all are of fixed size:
///
///   acceptor: Challenge                                    a nonce
///   connector: Claim with its proof over Challenge, Hello  who it is and whom it wants, a nonce of its own
///   acceptor: Answer with its proof over the same          or that it refuses
///
/// The two proofs are HMACs of different texts, so neither can be sent back as the other.
struct Challenge {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t byte_order;
  std::array<unsigned char, 32> nonce;
};
struct Hello {
  std::int32_t from;  ///< ranks
  std::int32_t to;
  std::int32_t size;  ///< of the world, as the connector knows it
  Channel channel;
  Address::Wire listens_on;  ///< where the connector takes connections
  std::uint32_t unused;
  std::array<unsigned char, 32> nonce;
};
struct Claim {
  Hello hello;
  Digest proof;
};
struct Answer {
  std::uint64_t accepted;
  Digest proof;
};
static_assert(std::has_unique_object_representations_v<Challenge> && std::has_unique_object_representations_v<Claim> &&
                  std::has_unique_object_representations_v<Answer>,
              "they are sent as they lie in memory, so nothing between the fields may leak");

Challenge make_challenge();
enum class Role : std::uint8_t { kConnector, kAcceptor };
Digest prove(const Credentials& credentials, Role role, const Challenge& challenge, const Hello& hello);

/// The connector's side; the hello's nonce is drawn here. False if the other side closed the connection in between,
/// which a full house does. Throws Error: kMismatch if what listens there is no rank of this version or does not know
/// the secret, or refuses ours; kTimeout; what a look at the company throws.
bool introduce(const FileDescriptor& socket, const Credentials& credentials, Hello hello, Deadline deadline,
               const Company& company = {});

}  // namespace lockstep::tcp
