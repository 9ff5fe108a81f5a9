#pragma once

#include "group/engine.h"

#include <memory>
#include <string>
#include <utility>

namespace lockstep::detail {

/// Does all that another engine does, but for what a test changes of it.
class WrappedEngine : public Engine {
 public:
  explicit WrappedEngine(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Medium medium() const override { return inner_->medium(); }
  bool takes(Device device) const override { return inner_->takes(device); }
  RegisteredMemory allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  bool is_registered(const void* data, std::size_t bytes) const override { return inner_->is_registered(data, bytes); }
  std::unique_ptr<RunningOperation> prepare(Shape shape) override { return inner_->prepare(std::move(shape)); }
  ByteStreams& messages() override { return inner_->messages(); }
  std::uint64_t bytes_sent() const override { return inner_->bytes_sent(); }
  void fail(const Error& error) noexcept override { inner_->fail(error); }
  void look_around() override { inner_->look_around(); }
  std::string open_meeting() override { return inner_->open_meeting(); }
  std::unique_ptr<Engine> join(const Meeting& meeting) override { return inner_->join(meeting); }

 private:
  std::unique_ptr<Engine> inner_;
};

}  // namespace lockstep::detail
