#include "base/held_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

namespace lockstep {

HeldPort hold_port() {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw_system_error("Making a socket to find a free port");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const int may_be_shared = 1;  // with one that listens; ports that the system picks are not shared even so
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &may_be_shared, sizeof may_be_shared) != 0 ||
      ::bind(socket.get(), generic, size) != 0 || ::getsockname(socket.get(), generic, &size) != 0) {
    throw_system_error("Finding a free port on 127.0.0.1");
  }
  return {.socket = std::move(socket), .number = ntohs(address.sin_port)};
}

}  // namespace lockstep
