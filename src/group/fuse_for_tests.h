#pragma once

#include "group/engine_for_tests.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::detail {

/// What a rank's transport does beside what it is asked for: at one of its calls, once, it throws.
class Fuse {
 public:
  explicit Fuse(
      int calls_before, std::function<void()> blow = [] { throw std::bad_alloc(); })
      : left_(calls_before), blow_(std::move(blow)) {}
  void use() {
    if (left_-- > 0) return;
    if (!blown_.exchange(true)) blow_();
  }
  bool is_blown() const { return blown_; }
  /// Whether it is, and from now on it stays as it is.
  bool settle() { return blown_.exchange(true); }

 private:
  std::atomic<int> left_;
  std::function<void()> blow_;
  std::atomic<bool> blown_ = false;
};

class FusedStreams final : public ByteStreams {
 public:
  FusedStreams(ByteStreams& inner, Fuse& fuse) : inner_(inner), fuse_(fuse) {}
  std::size_t send(int peer, std::span<const iovec> spans) override { return fuse_.use(), inner_.send(peer, spans); }
  std::size_t receive(int peer, std::span<const iovec> spans) override {
    return fuse_.use(), inner_.receive(peer, spans);
  }
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override {
    return fuse_.use(), inner_.wait(needs, deadline);
  }
  int patience() const override { return inner_.patience(); }

 private:
  ByteStreams& inner_;
  Fuse& fuse_;
};

class FusedTransport final : public MessageTransport {
 public:
  FusedTransport(std::unique_ptr<MessageTransport> inner, Fuse& fuse)
      : inner_(std::move(inner)), fuse_(fuse), streams_(*inner_, fuse), messages_(inner_->messages(), fuse) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  bool takes(Device device) const override { return inner_->takes(device); }
  RegisteredMemory allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  std::size_t send(int peer, std::span<const iovec> spans) override { return streams_.send(peer, spans); }
  std::size_t receive(int peer, std::span<const iovec> spans) override { return streams_.receive(peer, spans); }
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override {
    return streams_.wait(needs, deadline);
  }
  void add_sockets(std::span<const Need> needs, std::vector<pollfd>& sockets) const override {
    fuse_.use();
    inner_->add_sockets(needs, sockets);
  }
  int patience() const override { return inner_->patience(); }
  ByteStreams& messages() override { return messages_; }
  std::uint64_t bytes_sent() const override { return inner_->bytes_sent(); }
  void listen() override { fuse_.use(), inner_->listen(); }
  void answer(std::vector<pollfd>& sockets) override { fuse_.use(), inner_->answer(sockets); }
  std::vector<int> idle_peers() override { return fuse_.use(), inner_->idle_peers(); }
  void tell(int peer, std::span<const std::byte> what) override { fuse_.use(), inner_->tell(peer, what); }
  std::span<const std::byte> told_by(int peer) override { return inner_->told_by(peer); }
  void fail(const Error& error) noexcept override { inner_->fail(error); }
  void look_around() override { inner_->look_around(); }
  std::string open_meeting() override { return inner_->open_meeting(); }
  std::unique_ptr<MessageTransport> join(const Meeting& meeting) override { return inner_->join(meeting); }

 private:
  std::unique_ptr<MessageTransport> inner_;
  Fuse& fuse_;
  FusedStreams streams_;
  FusedStreams messages_;
};

/// Where memory is shared: what moves and waits there.
class FusedOperation final : public RunningOperation {
 public:
  FusedOperation(std::unique_ptr<RunningOperation> inner, Fuse& fuse)
      : RunningOperation(inner->announcement()), inner_(std::move(inner)), fuse_(fuse) {}
  void wait_for_peer_until(Time at_most) override { fuse_.use(), inner_->wait_for_peer_until(at_most); }
  std::size_t bytes_kept() const override { return inner_->bytes_kept(); }

 private:
  void enter() override { fuse_.use(), inner_->begin(call(), announcement_.sequence, past_); }
  bool go_on() override {
    const bool complete = inner_->advance();
    if (!complete) fuse_.use();
    return complete;
  }

  std::unique_ptr<RunningOperation> inner_;
  Fuse& fuse_;
};

class FusedEngine final : public WrappedEngine {
 public:
  FusedEngine(std::unique_ptr<Engine> inner, Fuse& fuse)
      : WrappedEngine(std::move(inner)), fuse_(fuse), messages_(WrappedEngine::messages(), fuse) {}
  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    return std::make_unique<FusedOperation>(WrappedEngine::prepare(std::move(shape)), fuse_);
  }
  ByteStreams& messages() override { return messages_; }

 private:
  Fuse& fuse_;
  FusedStreams messages_;
};

}  // namespace lockstep::detail
