#pragma once

#include "base/file_descriptor.h"
#include "base/secret.h"
#include "topology/dealing.h"
#include "transport/message_transport.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tcp {

/// What a rank holds of its group once the ranks have found each other (join.h for processes, thread_host.h for
/// threads).
struct Host {
  struct Link {
    FileDescriptor control;
    FileDescriptor data;      ///< of collectives
    FileDescriptor messages;  ///< from one rank to another
  };
  int rank = 0;
  std::vector<Link> links;  ///< by rank; our own is empty
  RankHere here;
  std::size_t piece_bytes = 0;  ///< as MessageTransport's
  std::string listen_on;        ///< as in JoinRequest
  std::optional<Secret> secret;
};

/// TCP between the ranks of a group. Says good-bye to the peers when destroyed.
std::unique_ptr<MessageTransport> create(Host host);

}  // namespace lockstep::tcp
