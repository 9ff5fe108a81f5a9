#include "transport/mpi/mpi_transport.h"

#include "base/own_process.h"
#include "transport/mpi/collectives.h"
#include "transport/mpi/join.h"
#include "transport/mpi/streams.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace lockstep::mpi {

namespace {

/// Of a group's tags; another one is where it meets (join.cpp). Open MPI makes a communicator by messages under the tag
/// that it is given for that.
enum Tag : int { kData, kMessages, kControl, kCommunicator = 4 };

/// Of messages, from each rank to each other: as much as through shared memory.
constexpr std::size_t kMessageBufferBytes = std::size_t{128} << 10;

class MpiTransport final : public MessageTransport {
 public:
  MpiTransport(std::shared_ptr<const Process> process, const Joined& joined, int rank)
      : process_(std::move(process)),
        peers_(*process_, rank, joined.world_ranks, joined.tag + kControl),
        data_(*process_, peers_, joined.world_ranks, {.tag = joined.tag + kData, .number = 0}),
        messages_(*process_, peers_, joined.world_ranks,
                  {.tag = joined.tag + kMessages, .number = 1, .buffer_bytes = kMessageBufferBytes}),
        collectives_(*process_, rank, joined.world_ranks, joined.tag + kCommunicator) {
    process_->open();
  }

  ~MpiTransport() override {
    if (failed_ || !own_process_.is_this()) return;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      control(peer).say_left({data_.bytes_sent_to(peer), messages_.bytes_sent_to(peer)});
    }
    process_->close();
  }

  int rank() const override { return peers_.rank(); }
  int size() const override { return peers_.size(); }
  bool takes(Device device) const override { return device == Device::kHost; }

  RegisteredMemory allocate(std::size_t bytes) override {
    const bool wraps = bytes > SIZE_MAX - kAlignment;
    void* const data = wraps ? nullptr : std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    if (data == nullptr) {
      throw Error(ErrorCode::kOutOfMemory, fmt::format("{} bytes of memory could not be had.", bytes));
    }
    std::memset(data, 0, bytes);
    return {std::shared_ptr<void>(data, std::free), bytes};
  }

  std::size_t send(int peer, std::span<const iovec> spans) override { return data_.send(peer, spans); }
  std::size_t receive(int peer, std::span<const iovec> spans) override { return data_.receive(peer, spans); }
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override {
    return data_.wait(needs, deadline);
  }
  int patience() const override { return data_.patience(); }
  ByteStreams& messages() override { return messages_; }
  Vendor* vendor() override { return &collectives_; }
  std::uint64_t bytes_sent() const override { return data_.bytes_sent() + messages_.bytes_sent(); }

  std::vector<int> idle_peers() override { return peers_.ask_who_is_idle(); }
  void tell(int peer, std::span<const std::byte> what) override { control(peer).tell(what); }
  std::span<const std::byte> told_by(int peer) override { return control(peer).told(); }

  void fail(const Error& error) noexcept override {
    failed_ = true;
    if (!own_process_.is_this()) return;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank()) control(peer).say_failed(error);
    }
  }

  void look_around() override { peers_.check(); }

  std::string open_meeting() override { return Place{process_->rank(), process_->next_group()}.to_bytes(); }
  std::unique_ptr<MessageTransport> join(const Meeting& meeting) override {
    const Place place = Place::from_bytes(meeting.place);
    const Joined joined = mpi::join(*process_, place, meeting);
    return std::make_unique<MpiTransport>(process_, joined, meeting.rank);
  }

 private:
  static constexpr std::size_t kAlignment = 64;

  Control& control(int peer) { return *peers_.controls()[static_cast<std::size_t>(peer)]; }

  OwnProcess own_process_;
  std::shared_ptr<const Process> process_;
  bool failed_ = false;
  Peers peers_;
  Streams data_;
  Streams messages_;
  Collectives collectives_;
};

}  // namespace

std::unique_ptr<MessageTransport> create(int rank, int size, std::chrono::milliseconds timeout) {
  auto process = std::make_shared<const Process>(timeout);
  process->open();
  if (process->rank() != rank || process->size() != size) {
    throw Error(ErrorCode::kMismatch,
                fmt::format("The launcher's variables say rank {} of {}, and MPI says {} of {}; start the program with "
                            "mpirun, and with the one of the MPI that Lockstep was built with.",
                            rank, size, process->rank(), process->size()),
                {.rank = rank});
  }
  const Joined joined = join(*process, {}, {.rank = rank, .size = size, .timeout = timeout});
  auto transport = std::make_unique<MpiTransport>(process, joined, rank);
  process->close();
  return transport;
}

}  // namespace lockstep::mpi
