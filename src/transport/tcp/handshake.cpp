#include "transport/tcp/handshake.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/random.h>

#include <span>
#include <vector>

namespace lockstep::tcp {

namespace {

constexpr std::uint64_t kMagic = 0x31706574736b636c;  // "lckstep1"
constexpr std::uint32_t kProtocol = 8;
constexpr std::uint32_t kByteOrder = 0x01020304;

void fill_randomly(std::array<unsigned char, 32>& bytes) {
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) throw_system_error("getrandom");
}

template <class T>
void append(std::vector<std::byte>& text, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  text.insert(text.end(), bytes.begin(), bytes.end());
}

}  // namespace

Challenge make_challenge() {
  Challenge challenge{.magic = kMagic, .protocol = kProtocol, .byte_order = kByteOrder, .nonce = {}};
  fill_randomly(challenge.nonce);
  return challenge;
}

Digest prove(const Credentials& credentials, Role role, const Challenge& challenge, const Hello& hello) {
  std::vector<std::byte> text;
  for (const char letter : std::string(role == Role::kConnector ? "lockstep connector" : "lockstep acceptor")) {
    text.push_back(static_cast<std::byte>(letter));
  }
  append(text, challenge);
  append(text, hello);
  // Last, since it alone has no fixed length.
  for (const char letter : credentials.job) text.push_back(static_cast<std::byte>(letter));
  return hmac(credentials.secret, text);
}

bool introduce(const FileDescriptor& socket, const Credentials& credentials, Hello hello, Deadline deadline,
               const Company& company) {
  const int own = company.name(hello.from);
  const int other = company.name(hello.to);
  const auto complete = [&](Moved moved) {
    if (moved == Moved::kTimeout) {
      throw Error(
          ErrorCode::kTimeout,
          fmt::format("rank {} did not answer where it listens; does it run, and is that a rank of this job?", other),
          {.rank = own, .peer = other});
    }
    return moved == Moved::kAll;
  };
  Challenge challenge;
  if (!complete(receive_all(socket, &challenge, sizeof challenge, deadline, company.look))) return false;
  if (challenge.magic != kMagic || challenge.protocol != kProtocol || challenge.byte_order != kByteOrder) {
    throw Error(ErrorCode::kMismatch,
                fmt::format("what listens where rank {} should is no rank of this version of Lockstep; were all ranks "
                            "started from one build, and is the port free for them?",
                            other),
                {.rank = own, .peer = other});
  }
  fill_randomly(hello.nonce);
  const Claim claim{hello, prove(credentials, Role::kConnector, challenge, hello)};
  Answer answer;
  if (!complete(send_all(socket, &claim, sizeof claim, deadline, company.look)) ||
      !complete(receive_all(socket, &answer, sizeof answer, deadline, company.look))) {
    return false;
  }
  if (answer.accepted != 1 || !same(answer.proof, prove(credentials, Role::kAcceptor, challenge, hello))) {
    throw Error(
        ErrorCode::kMismatch,
        fmt::format("rank {} and rank {} do not share a secret and a job; were both started by one launcher, or "
                    "given the same file as LOCKSTEP_SECRET_FILE?",
                    own, other),
        {.rank = own, .peer = other});
  }
  return true;
}

}  // namespace lockstep::tcp
