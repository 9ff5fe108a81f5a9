#include "transport/shm/join.h"

#include "base/clock.h"
#include "base/environment.h"
#include "topology/host_id.h"
#include "transport/joining.h"
#include "transport/shm/unix_socket.h"
#include "transport/verdict.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

namespace lockstep::shm {

namespace {

constexpr std::array<char, 8> kMagic{'L', 'O', 'C', 'K', 'S', 'T', 'E', 'P'};
constexpr std::uint32_t kProtocol = 3;

/// What a rank says first; with it come its memory and the watch end of its lifeline.
struct Hello {
  std::array<char, 8> magic = kMagic;
  std::uint32_t protocol = kProtocol;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint64_t arena_bytes = 0;
  std::array<char, 40> boot_id{};
};

/// What a rank brought.
struct Member {
  FileDescriptor connection;  ///< rank 0 holds one to each other rank
  Hello hello;
  FileDescriptor memory;
  FileDescriptor watch_end;
};

std::array<char, 40> id_of_boot() {
  std::array<char, 40> id{};
  const std::string text = boot_id();
  std::copy_n(text.begin(), std::min(text.size(), id.size() - 1), id.begin());
  return id;
}

std::string socket_name(const std::string& job) {
  // An abstract name holds some 100 bytes; job identities of other launchers may be longer.
  const std::string key = job.size() <= 48 ? job : fmt::format("{:016x}", std::hash<std::string>{}(job));
  return fmt::format("lockstep-{}-{}", ::geteuid(), key);
}

Error of_another_version() {
  return {ErrorCode::kMismatch,
          "A process that says it is a rank of this job is none of this version of Lockstep; start all ranks from one "
          "build."};
}

template <class T>
T unpack(const Message& message, const char* what) {
  T value;
  if (message.bytes.size() != sizeof value) {
    throw Error(ErrorCode::kTransport,
                fmt::format("A rank sent {} of {} bytes, not {}: do all ranks run the same build?", what,
                            message.bytes.size(), sizeof value));
  }
  std::memcpy(&value, message.bytes.data(), sizeof value);
  return value;
}

Sent send_member(const FileDescriptor& socket, const Member& member, Deadline deadline) {
  return send_message(socket, &member.hello, sizeof member.hello, {member.memory.get(), member.watch_end.get()},
                      deadline);
}

Member member_in(Message message) {
  Member member;
  member.hello = unpack<Hello>(message, "a greeting");
  if (member.hello.magic != kMagic || member.hello.protocol != kProtocol || message.files.size() != 2) {
    throw of_another_version();
  }
  member.memory = std::move(message.files[0]);
  member.watch_end = std::move(message.files[1]);
  return member;
}

/// What makes this rank one of the job.
struct Self {
  std::shared_ptr<Arena> arena;
  Lifeline lifeline;
  Hello hello;
};

Self introduce(const JoinRequest& request) {
  Self self{Arena::create(Arena::default_bytes(request.size), request.rank), Lifeline::create(), {}};
  self.hello.rank = request.rank;
  self.hello.size = request.size;
  self.hello.arena_bytes = self.arena->mapping().bytes();
  self.hello.boot_id = id_of_boot();
  return self;
}

/// Why rank 0 gives up; whoever has no room for that, or is gone, is not waited for.
void tell(const FileDescriptor& connection, const Verdict& verdict) {
  if (!connection) return;
  try {
    (void)send_message(connection, &verdict, sizeof verdict, {}, Deadline());
  } catch (const Error&) {
    // What keeps this rank from saying it comes after what it gives up for; whoever is left hears that.
  }
}

/// Why `own` waits no more for `rank`, which hung up.
Error ended_early(const Company& company, int own, int rank) {
  company.await_last_word();
  return {ErrorCode::kPeerDied,
          fmt::format("Rank {} ended while the group was being formed.", company.name(rank)),
          {.rank = company.name(own), .peer = company.name(rank)}};
}

/// Rank 0's side of the meeting.
class Gathering {
 public:
  Gathering(const JoinRequest& request, const Hello& own, Deadline deadline)
      : request_(request), own_(own), deadline_(deadline), listener_(listen_on(socket_name(request.job))) {
    members_.resize(static_cast<std::size_t>(request.size));
  }

  void gather() {
    while (present_ + 1 < request_.size) admit_next();
  }
  /// By rank; entry 0 is empty.
  std::vector<Member>& members() { return members_; }
  void tell_all(const Verdict& verdict) const {
    for (const Member& member : members_) tell(member.connection, verdict);
    for (const FileDescriptor& newcomer : newcomers_) tell(newcomer, verdict);
  }

 private:
  /// Waits for a connection or a greeting. Newcomers that say nothing hold up nobody: all are listened to at once, and
  /// to the members, of whom none says a word before it is answered, but one that ends hangs up.
  void admit_next() {
    std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
    for (const FileDescriptor& newcomer : newcomers_) polled.push_back({newcomer.get(), POLLIN, 0});
    const std::size_t first_member = polled.size();
    for (const Member& member : members_) polled.push_back({member.connection.get(), POLLIN, 0});
    if (std::chrono::steady_clock::now() >= deadline_) throw_missing();
    request_.company.look_around();
    if (::poll(polled.data(), polled.size(), milliseconds_until(Company::next_look(deadline_))) <= 0) return;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (polled[first_member + rank].revents != 0) throw ended_early(request_.company, 0, static_cast<int>(rank));
    }
    for (std::size_t i = newcomers_.size(); i-- > 0;) {
      if (polled[i + 1].revents != 0) hear(i);
    }
    if (polled[0].revents == 0) return;
    if (auto connection = accept_from(listener_)) newcomers_.push_back(std::move(*connection));
  }

  void hear(std::size_t index) {
    if (state_of(newcomers_[index]) == Line::kOver) request_.company.await_last_word();
    auto message = receive_message(newcomers_[index], sizeof(Hello) + 1, deadline_);
    if (!message) return;
    Member member = member_in(std::move(*message));
    require_expected(member.hello);
    member.connection = std::move(newcomers_[index]);
    newcomers_.erase(newcomers_.begin() + static_cast<std::ptrdiff_t>(index));
    members_[static_cast<std::size_t>(member.hello.rank)] = std::move(member);
    ++present_;
  }

  void require_expected(const Hello& hello) const {
    const int leader = request_.company.name(0);
    const int rank = request_.company.name(hello.rank);
    if (hello.size != request_.size) {
      throw Error(ErrorCode::kMismatch,
                  fmt::format("Rank {} says that the world has {} ranks, rank {} says {}.", rank, hello.size, leader,
                              request_.size),
                  {.rank = leader, .peer = rank});
    }
    if (hello.boot_id != own_.boot_id) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("Rank {} runs on another machine than rank {}, and shared memory is for ranks of one; "
                              "set {} to tcp.",
                              rank, leader, kTransportVariable),
                  {.rank = leader, .peer = rank});
    }
    if (hello.rank < 1 || hello.rank >= request_.size || members_[static_cast<std::size_t>(hello.rank)].connection) {
      throw Error(ErrorCode::kMismatch, fmt::format("Two processes say that they are rank {}.", rank),
                  {.rank = leader, .peer = rank});
    }
  }

  [[noreturn]] void throw_missing() const {
    std::vector<int> missing;
    for (int rank = 1; rank < request_.size; ++rank) {
      if (!members_[static_cast<std::size_t>(rank)].connection) missing.push_back(request_.company.name(rank));
    }
    throw Error(
        ErrorCode::kTimeout,
        fmt::format("Rank {} waited {} s for {} to join. Were all {} ranks started, with the same job identity?",
                    request_.company.name(0), static_cast<double>(request_.timeout.count()) / 1000,
                    ranks_in_words(missing), request_.size),
        {.rank = request_.company.name(0), .peer = missing.front()});
  }

  const JoinRequest& request_;
  const Hello& own_;
  Deadline deadline_;
  FileDescriptor listener_;
  std::vector<FileDescriptor> newcomers_;  ///< connected, not yet introduced
  std::vector<Member> members_;
  int present_ = 0;
};

std::shared_ptr<RankSlot> slots_in(SharedMapping mapping) {
  // Zero-filled memory is a valid slot: every field's initial value is zero.
  const auto owner = std::make_shared<SharedMapping>(std::move(mapping));
  return {owner, reinterpret_cast<RankSlot*>(owner->data())};
}

/// Maps what the members brought.
Host make_host(Self self, std::shared_ptr<RankSlot> slots, std::vector<Member> members) {
  Host host;
  host.rank = self.hello.rank;
  host.slots = std::move(slots);
  host.arena = self.arena;
  auto mappings = std::make_shared<std::vector<SharedMapping>>();
  for (Member& member : members) {
    const bool own = member.hello.rank == host.rank;
    if (!own) mappings->push_back(SharedMapping::attach(std::move(member.memory), member.hello.arena_bytes));
    host.memory.push_back(own ? self.arena->mapping().data() : mappings->back().data());
    host.peer_lifelines.push_back(own ? FileDescriptor() : std::move(member.watch_end));
  }
  host.peer_memory_owner = std::move(mappings);
  host.lifeline.owner_end = std::move(self.lifeline.owner_end);
  return host;
}

FileDescriptor copy_of(int file) {
  FileDescriptor copy(::fcntl(file, F_DUPFD_CLOEXEC, 0));
  if (!copy) throw_system_error("Copying a descriptor (fcntl)");
  return copy;
}

Member as_member(const Self& self) {
  Member member;
  member.hello = self.hello;
  member.memory = copy_of(self.arena->mapping().file());
  member.watch_end = copy_of(self.lifeline.watch_end.get());
  return member;
}

Error waited_in_vain(const JoinRequest& request, int peer, const char* what) {
  const int rank = request.company.name(request.rank);
  const int awaited = request.company.name(peer);
  return {ErrorCode::kTimeout,
          fmt::format("Rank {} waited {} s for rank {} {}. Is it running, on this machine, with the same job identity?",
                      rank, static_cast<double>(request.timeout.count()) / 1000, awaited, what),
          {.rank = rank, .peer = awaited}};
}

/// Tells a rank about all of them: a yes with the board, then the Hello of every rank, each with that rank's memory and
/// watch end. A no may come instead of any of these.
void introduce_all(const JoinRequest& request, const std::vector<Member>& members, int rank, int board,
                   Deadline deadline) {
  const FileDescriptor& connection = members[static_cast<std::size_t>(rank)].connection;
  const Verdict yes = Verdict::yes();
  Sent sent = send_message(connection, &yes, sizeof yes, {board}, deadline);
  for (const Member& member : members) {
    if (sent == Sent::kAll) sent = send_member(connection, member, deadline);
  }
  if (sent == Sent::kGone) throw ended_early(request.company, 0, rank);
  if (sent == Sent::kLate) throw waited_in_vain(request, rank, "to hear of the others");
}

Host lead(const JoinRequest& request, Self self, Deadline deadline) {
  Gathering gathering(request, self.hello, deadline);
  std::shared_ptr<RankSlot> slots;
  try {
    gathering.gather();
    std::vector<Member>& members = gathering.members();
    SharedMapping board = SharedMapping::create("lockstep-board", sizeof(RankSlot) * members.size());
    const int board_file = board.file();
    slots = slots_in(std::move(board));
    members[0] = as_member(self);
    for (int rank = 1; rank < request.size; ++rank) introduce_all(request, members, rank, board_file, deadline);
    return make_host(std::move(self), slots, std::move(members));
  } catch (const Error& error) {
    const Error told = as_told_by(request.company.name(0), error);
    gathering.tell_all(Verdict::no(told));
    // Who was introduced before has joined, and listens no more: it sees it on the board, as this rank's failure.
    if (slots) slots->fail({told.code(), told.what()});
    throw;
  }
}

FileDescriptor connect_to_leader(const JoinRequest& request, Deadline deadline) {
  while (true) {
    if (auto socket = connect_to(socket_name(request.job), Company::next_look(deadline))) return std::move(*socket);
    request.company.look_around();
    if (std::chrono::steady_clock::now() >= deadline) throw waited_in_vain(request, 0, "to appear");
  }
}

/// A rank 0 that has given up meanwhile takes no greeting, and may have said why.
void greet(const JoinRequest& request, const FileDescriptor& socket, const Member& self, Deadline deadline) {
  const Sent sent = send_member(socket, self, deadline);
  if (sent == Sent::kGone && state_of(socket) == Line::kOver) throw ended_early(request.company, request.rank, 0);
}

/// Returns once something has come from rank 0.
void await_leader(const JoinRequest& request, const FileDescriptor& socket, Deadline deadline, const char* what) {
  while (true) {
    pollfd polled{socket.get(), POLLIN, 0};
    (void)::poll(&polled, 1, milliseconds_until(Company::next_look(deadline)));
    const Line line = state_of(socket);
    if (line == Line::kSpeaks) return;
    if (line == Line::kOver) throw ended_early(request.company, request.rank, 0);
    request.company.look_around();
    if (std::chrono::steady_clock::now() >= deadline) throw waited_in_vain(request, 0, what);
  }
}

/// None if the deadline passed. Throws why rank 0 gives up.
std::optional<Member> hear_of_one(const JoinRequest& request, const FileDescriptor& socket, Deadline deadline) {
  static_assert(sizeof(Verdict) > sizeof(Hello), "which of the two has come is told by its size");
  auto message = receive_message(socket, sizeof(Verdict) + 1, deadline);
  if (!message) return std::nullopt;
  if (message->bytes.size() == sizeof(Verdict)) {
    unpack<Verdict>(*message, "an answer").require_accepted(request.company.name(request.rank));
  }
  return member_in(std::move(*message));
}

Host follow(const JoinRequest& request, Self self, Deadline deadline) {
  const FileDescriptor socket = connect_to_leader(request, deadline);
  greet(request, socket, as_member(self), deadline);
  // Rank 0 gives up first and says why.
  const Deadline patience = deadline + std::chrono::seconds(2);
  await_leader(request, socket, patience, "to let it join");
  auto answer = receive_message(socket, sizeof(Verdict) + 1, patience);
  if (!answer) throw waited_in_vain(request, 0, "to let it join");
  unpack<Verdict>(*answer, "an answer").require_accepted(request.company.name(request.rank));
  if (answer->files.size() != 1) throw of_another_version();
  const auto size = static_cast<std::size_t>(request.size);
  std::vector<Member> members;
  while (members.size() < size) {
    await_leader(request, socket, patience, "to introduce the others");
    auto member = hear_of_one(request, socket, patience);
    if (!member) throw waited_in_vain(request, 0, "to introduce the others");
    members.push_back(std::move(*member));
  }
  SharedMapping board = SharedMapping::attach(std::move(answer->files[0]), sizeof(RankSlot) * size);
  return make_host(std::move(self), slots_in(std::move(board)), std::move(members));
}

}  // namespace

Host join_processes(const JoinRequest& request) {
  const Deadline deadline = std::chrono::steady_clock::now() + request.timeout;
  // Of each a memory and a lifeline, which rank 0 has while the connection is open.
  const bool leads = request.rank == 0;
  require_room_for(request.size, {.rank = request.company.name(request.rank), .a_peer = leads ? 3 : 2});
  Self self = introduce(request);
  return leads ? lead(request, std::move(self), deadline) : follow(request, std::move(self), deadline);
}

}  // namespace lockstep::shm
