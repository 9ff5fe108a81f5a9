#include "group/transport_choice.h"

#include "base/environment.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

bool is_on_one_host(const Identity& identity) { return identity.local_size == identity.size; }

/// What may carry the job's bytes, the best first.
std::vector<TransportKind> candidates(const Identity& identity) {
  std::vector<TransportKind> kinds;
  if (is_on_one_host(identity)) kinds.push_back(TransportKind::kSharedMemory);
  if (identity.by_mpi) kinds.push_back(TransportKind::kMpi);
  kinds.push_back(TransportKind::kTcp);
  return kinds;
}

TransportChoice first_that_works(const Identity& identity, std::span<const NamedTransport> transports) {
  std::string reasons;
  for (const TransportKind kind : candidates(identity)) {
    const auto transport = std::ranges::find(transports, kind, &NamedTransport::kind);
    const auto why = transport->why_not_here(identity.local_size);
    if (!why) return {.kind = kind, .passed_over = std::move(reasons)};
    reasons += fmt::format(" {}: {}", transport->name, *why);
  }
  throw Error(ErrorCode::kUnsupported,
              fmt::format("Rank {} found no transport that works on this machine.{}", identity.rank, reasons),
              {.rank = identity.rank});
}

}  // namespace

const NamedTransport* find_transport(const std::string& asked, std::span<const NamedTransport> transports) {
  if (asked == "auto") return nullptr;
  const auto transport = std::ranges::find(transports, asked, &NamedTransport::name);
  if (transport != transports.end()) return &*transport;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} is '{}'; it takes auto, shm, tcp or mpi.", kTransportVariable, asked));
}

TransportChoice choose_transport(const std::string& asked, const Identity& identity,
                                 std::span<const NamedTransport> transports) {
  const NamedTransport* const transport = find_transport(asked, transports);
  if (transport == nullptr) return first_that_works(identity, transports);
  if (transport->kind == TransportKind::kSharedMemory && !is_on_one_host(identity)) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("{} is 'shm', but of the job's {} ranks only {} are on this machine; take tcp, mpi or auto.",
                    kTransportVariable, identity.size, identity.local_size));
  }
  if (const auto why = transport->why_not_here(identity.local_size)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} is '{}', which does not work on this machine; take another, or auto. {}",
                            kTransportVariable, asked, *why),
                {.rank = identity.rank});
  }
  return {.kind = transport->kind, .passed_over = {}};
}

}  // namespace lockstep
