#include "transport/tcp/here.h"

#include "base/file_descriptor.h"
#include "transport/tcp/hmac.h"

#include <lockstep/error.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace lockstep::tcp {

/// Tries what a job needs: to prove a secret, and to open a socket.
std::optional<std::string> why_not_here() {
  try {
    (void)hmac(Secret(), {});
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
    if (!socket) throw_system_error("Making a TCP socket");
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace lockstep::tcp
