#include "transport/mpi/process.h"

#include "transport/mpi/library.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <atomic>

namespace lockstep::mpi {

namespace {

void require(const char* fault) {
  if (fault != nullptr) throw Error(ErrorCode::kTransport, fault);
}

}  // namespace

Process::Process(std::chrono::milliseconds timeout) : Process(library(), timeout) {}

Process::Process(const Calls& calls, std::chrono::milliseconds timeout) : calls_(calls) {
  require(calls_.start(&started_, static_cast<long>(timeout.count())));
}

void Process::send(Request& request, std::span<const std::byte> data, int to, int tag, bool synchronous) const {
  const Outgoing message{data.data(), data.size(), to, tag, synchronous ? 1 : 0};
  require(calls_.send(&request, &message));
}

void Process::receive(Request& request, std::span<std::byte> room, int from, int tag) const {
  require(calls_.receive(&request, room.data(), room.size(), from, tag));
}

std::optional<Process::Came> Process::test(Request& request) const {
  int complete = 0;
  Came came{};
  require(calls_.test(&request, &complete, &came.bytes, &came.from));
  return complete != 0 ? std::optional(came) : std::nullopt;
}

int Process::make_communicator(std::span<const int> ranks, int tag) const {
  int communicator = 0;
  require(calls_.make_communicator(&communicator, ranks.data(), static_cast<int>(ranks.size()), tag));
  return communicator;
}

void Process::begin(Request& request, int communicator, const WholeCollective& what) const {
  require(calls_.begin(&request, communicator, &what));
}

int Process::next_group() const {
  static std::atomic<int> groups = 0;
  const long long group = 1LL + static_cast<long long>(groups++) * size() + rank();  // 0 is for those who meet
  if ((group + 1) * kTagsAGroup - 1 > most_tag()) {
    throw Error(ErrorCode::kTransport,
                fmt::format("MPI has {} tags, of which each group takes {} for good, and rank {} has none left for "
                            "another; make groups once, and keep them.",
                            most_tag(), kTagsAGroup, rank()),
                {.rank = rank()});
  }
  return static_cast<int>(group) * kTagsAGroup;
}

}  // namespace lockstep::mpi
