#include "tests/conformance/tripwire.h"

#include <algorithm>
#include <utility>

namespace lockstep::conformance {

namespace {

class WatchedStreams final : public ByteStreams {
 public:
  WatchedStreams(ByteStreams& inner, Tripwire& tripwire) : inner_(inner), tripwire_(tripwire) {}

  std::size_t send(int peer, std::span<const iovec> spans) override {
    const std::size_t bytes = inner_.send(peer, spans);
    tripwire_.pass_bytes(peer, bytes);
    return bytes;
  }
  std::size_t receive(int peer, std::span<const iovec> spans) override {
    const std::size_t bytes = inner_.receive(peer, spans);
    tripwire_.pass_bytes(peer, bytes);
    return bytes;
  }
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override {
    return inner_.wait(needs, deadline);
  }
  void add_sockets(std::span<const Need> needs, std::vector<pollfd>& sockets) const override {
    inner_.add_sockets(needs, sockets);
  }
  int patience() const override { return inner_.patience(); }
  bool shares_core() const override { return inner_.shares_core(); }

 private:
  ByteStreams& inner_;
  Tripwire& tripwire_;
};

class WatchedTransport final : public Transport {
 public:
  WatchedTransport(std::unique_ptr<Transport> inner, Tripwire& tripwire)
      : inner_(std::move(inner)), tripwire_(tripwire), messages_(inner_->messages(), tripwire) {}

  void signal(Progress progress) override {
    tripwire_.pass(1);
    inner_->signal(progress);
  }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  bool takes(Device device) const override { return inner_->takes(device); }
  RegisteredMemory allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  std::optional<std::uint64_t> offset_of(const void* data, std::size_t bytes) const override {
    return inner_->offset_of(data, bytes);
  }
  std::byte* memory_of(int peer, std::uint64_t offset) const override { return inner_->memory_of(peer, offset); }
  std::byte* staging_of(int peer) const override { return inner_->staging_of(peer); }
  std::size_t staging_bytes() const override { return inner_->staging_bytes(); }
  void announce(const Announcement& announcement) override { inner_->announce(announcement); }
  std::optional<Announcement> announcement_of(int peer, std::uint64_t sequence) const override {
    return inner_->announcement_of(peer, sequence);
  }
  std::optional<std::uint64_t> fingerprint_of(int peer, std::uint64_t sequence) const override {
    return inner_->fingerprint_of(peer, sequence);
  }
  std::optional<Entry> entry_of(int peer, std::uint64_t sequence) const override {
    return inner_->entry_of(peer, sequence);
  }
  std::size_t letter_bytes() const override { return inner_->letter_bytes(); }
  bool post(const Letter& letter, const std::byte* data) override {
    tripwire_.pass(1);
    return inner_->post(letter, data);
  }
  bool read(int peer, const Letter& letter, std::byte* to) const override { return inner_->read(peer, letter, to); }
  bool await_briefly(int peer, const Letter& letter, std::byte* to) override {
    return inner_->await_briefly(peer, letter, to);
  }
  bool wait_for(int peer, const Letter& letter, std::byte* to, Progress progress,
                std::chrono::steady_clock::time_point deadline) override {
    return inner_->wait_for(peer, letter, to, progress, deadline);
  }
  Progress progress_of(int peer) const override { return inner_->progress_of(peer); }
  bool await_briefly(int peer, Progress progress) override { return inner_->await_briefly(peer, progress); }
  bool wait_for(int peer, Progress progress, std::chrono::steady_clock::time_point deadline) override {
    return inner_->wait_for(peer, progress, deadline);
  }
  ByteStreams& messages() override { return messages_; }
  void fail(const Error& error) noexcept override { inner_->fail(error); }
  bool hears_of_failure() const override { return inner_->hears_of_failure(); }
  bool has_failed(int peer) const override { return inner_->has_failed(peer); }
  void look_around() override { inner_->look_around(); }
  std::string open_meeting() override { return inner_->open_meeting(); }
  std::unique_ptr<Transport> join(const lockstep::Meeting& meeting) override {
    return std::make_unique<WatchedTransport>(inner_->join(meeting), tripwire_);
  }

 private:
  std::unique_ptr<Transport> inner_;
  Tripwire& tripwire_;
  WatchedStreams messages_;
};

class WatchedMessageTransport final : public MessageTransport {
 public:
  WatchedMessageTransport(std::unique_ptr<MessageTransport> inner, Tripwire& tripwire)
      : inner_(std::move(inner)),
        tripwire_(tripwire),
        data_(*inner_, tripwire),
        messages_(inner_->messages(), tripwire) {}

  std::size_t send(int peer, std::span<const iovec> spans) override { return data_.send(peer, spans); }
  std::size_t receive(int peer, std::span<const iovec> spans) override { return data_.receive(peer, spans); }
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override {
    return data_.wait(needs, deadline);
  }
  void add_sockets(std::span<const Need> needs, std::vector<pollfd>& sockets) const override {
    data_.add_sockets(needs, sockets);
  }
  int patience() const override { return data_.patience(); }
  bool shares_core() const override { return data_.shares_core(); }
  std::size_t piece_bytes() const override { return inner_->piece_bytes(); }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  bool takes(Device device) const override { return inner_->takes(device); }
  RegisteredMemory allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void listen() override { inner_->listen(); }
  void answer(std::vector<pollfd>& sockets) override { inner_->answer(sockets); }
  std::vector<int> idle_peers() override { return inner_->idle_peers(); }
  void tell(int peer, std::span<const std::byte> what) override { inner_->tell(peer, what); }
  std::span<const std::byte> told_by(int peer) override { return inner_->told_by(peer); }
  ByteStreams& messages() override { return messages_; }
  std::uint64_t bytes_sent() const override { return inner_->bytes_sent(); }
  void fail(const Error& error) noexcept override { inner_->fail(error); }
  void look_around() override { inner_->look_around(); }
  std::string open_meeting() override { return inner_->open_meeting(); }
  std::unique_ptr<MessageTransport> join(const lockstep::Meeting& meeting) override {
    return std::make_unique<WatchedMessageTransport>(inner_->join(meeting), tripwire_);
  }

 private:
  std::unique_ptr<MessageTransport> inner_;
  Tripwire& tripwire_;
  WatchedStreams data_;
  WatchedStreams messages_;
};

}  // namespace

void Tripwire::arm(std::uint64_t at, std::function<void()> action) {
  passed_ = 0;
  at_ = at;
  action_ = std::move(action);
}

void Tripwire::pass(std::uint64_t count) {
  passed_ += count;
  if (action_ && passed_ >= at_) std::exchange(action_, nullptr)();
}

void Tripwire::pass_bytes(int peer, std::uint64_t count) {
  if (peers_.empty() || std::find(peers_.begin(), peers_.end(), peer) != peers_.end()) pass(count);
}

std::unique_ptr<MessageTransport> watched(std::unique_ptr<MessageTransport> inner, Tripwire& tripwire) {
  return std::make_unique<WatchedMessageTransport>(std::move(inner), tripwire);
}

std::unique_ptr<detail::Engine> watched_engine(const Meeting& meeting, int rank, Tripwire& tripwire) {
  if (meeting.medium() == Medium::kTcp) {
    return detail::make_engine(watched(meeting.tcp(rank), tripwire));
  }
  return detail::make_engine(std::make_unique<WatchedTransport>(meeting.shared_memory(rank), tripwire));
}

}  // namespace lockstep::conformance
