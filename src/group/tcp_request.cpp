#include "group/tcp_request.h"

#include "base/environment.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <cstdint>
#include <string>

namespace lockstep {

namespace {

int meeting_port(const Lookup& lookup) {
  constexpr const char* kMasterPort = "MASTER_PORT";
  const auto own = lookup(kPortVariable);
  const auto master = lookup(kMasterPort);
  if (!own && !master) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("Over TCP the ranks meet at MASTER_ADDR and {}, and the launcher set neither {} nor {}: set "
                    "them, the same for all ranks.",
                    kPortVariable, kPortVariable, kMasterPort));
  }
  const std::int64_t port =
      own ? whole_number(kPortVariable, *own) : std::int64_t{whole_number(kMasterPort, *master)} + 1;
  if (port < 1 || port > 65'535) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("The ranks would meet at port {}, which is none: set {} to one of 1 to 65535.", port,
                            kPortVariable));
  }
  return static_cast<int>(port);
}

}  // namespace

tcp::JoinRequest tcp_request(const Identity& identity, const Lookup& lookup) {
  return {.job = identity.job,
          .rank = identity.rank,
          .size = identity.size,
          .here = {identity.local_rank, identity.local_size},
          .meet_at = lookup("MASTER_ADDR").value_or("127.0.0.1"),
          .port = meeting_port(lookup),
          .listen_on = lookup(kAddressVariable).value_or(""),
          .secret = Secret::find(lookup),
          .timeout = environment_duration(kJoinTimeoutVariable, std::chrono::seconds(60))};
}

}  // namespace lockstep
