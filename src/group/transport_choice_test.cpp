#include "group/transport_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <array>

namespace lockstep {

namespace {

using testing::AllOf;
using testing::HasSubstr;

std::optional<std::string> works(int) { return std::nullopt; }
std::optional<std::string> is_broken(int) { return "It is broken."; }

/// Transports of which those do not work.
std::array<NamedTransport, 3> transports_without(std::initializer_list<TransportKind> broken) {
  std::array<NamedTransport, 3> transports = named_transports();
  for (NamedTransport& transport : transports) {
    const bool is_one = std::find(broken.begin(), broken.end(), transport.kind) != broken.end();
    transport.why_not_here = is_one ? is_broken : works;
  }
  return transports;
}

Identity on_one_host(bool by_mpi = false) { return {.size = 2, .local_size = 2, .by_mpi = by_mpi, .job = "job"}; }
Identity on_two_hosts(bool by_mpi = false) { return {.size = 2, .local_size = 1, .by_mpi = by_mpi, .job = "job"}; }

std::string refusal_of(const std::string& asked, const Identity& identity, std::initializer_list<TransportKind> broken,
                       ErrorCode code) {
  try {
    (void)choose_transport(asked, identity, transports_without(broken));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST(TransportChoice, AutoTakesTheBestThatTheLauncherAllows) {
  const auto all = transports_without({});
  EXPECT_EQ(choose_transport("auto", on_one_host(), all).kind, TransportKind::kSharedMemory);
  EXPECT_EQ(choose_transport("auto", on_one_host(true), all).kind, TransportKind::kSharedMemory);
  EXPECT_EQ(choose_transport("auto", on_two_hosts(true), all).kind, TransportKind::kMpi);
  EXPECT_EQ(choose_transport("auto", on_two_hosts(), all).kind, TransportKind::kTcp);
}

TEST(TransportChoice, AutoPassesOverWhatDoesNotWorkHere) {
  using enum TransportKind;
  EXPECT_EQ(choose_transport("auto", on_one_host(), transports_without({kSharedMemory})).kind, kTcp);
  EXPECT_EQ(choose_transport("auto", on_one_host(), transports_without({kSharedMemory})).passed_over,
            " shm: It is broken.");
  EXPECT_EQ(choose_transport("auto", on_one_host(), transports_without({})).passed_over, "");
  EXPECT_EQ(choose_transport("auto", on_one_host(true), transports_without({kSharedMemory})).kind, kMpi);
  EXPECT_EQ(choose_transport("auto", on_two_hosts(true), transports_without({kMpi})).kind, kTcp);
  EXPECT_THAT(refusal_of("auto", on_one_host(), {kSharedMemory, kTcp}, ErrorCode::kUnsupported),
              "Rank 0 found no transport that works on this machine. shm: It is broken. tcp: It is broken.");
}

TEST(TransportChoice, WhatIsAskedForByNameIsTakenOrRefused) {
  using enum TransportKind;
  for (const NamedTransport& transport : transports_without({})) {
    EXPECT_EQ(choose_transport(transport.name, on_one_host(), transports_without({})).kind, transport.kind);
    EXPECT_THAT(refusal_of(transport.name, on_one_host(), {kSharedMemory, kTcp, kMpi}, ErrorCode::kUnsupported),
                AllOf(HasSubstr(std::string("LOCKSTEP_TRANSPORT is '") + transport.name + "', which does not work"),
                      HasSubstr("It is broken.")));
  }
  EXPECT_THAT(refusal_of("shm", on_two_hosts(), {}, ErrorCode::kUnsupported),
              HasSubstr("of the job's 2 ranks only 1 are on this machine"));
  EXPECT_THAT(refusal_of("pigeon", on_one_host(), {}, ErrorCode::kInvalidArgument),
              HasSubstr("LOCKSTEP_TRANSPORT is 'pigeon'; it takes auto, shm, tcp or mpi."));
}

}  // namespace lockstep
