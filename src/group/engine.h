#pragma once

#include "group/task.h"
#include "planner/medium.h"
#include "runtime/layout.h"
#include "runtime/plan.h"
#include "runtime/running_operation.h"
#include "schedule/schedule.h"
#include "transport/message_transport.h"
#include "transport/transport.h"

#include <lockstep/group.h>

#include <cstdint>
#include <memory>

namespace lockstep::detail {

/// What runs a group's operations: one over transports that show the peers' memory, one over those that move messages.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Medium medium() const = 0;
  /// As the transport's.
  virtual bool takes(Device device) const = 0;
  virtual RegisteredMemory allocate(std::size_t bytes) = 0;
  /// Whether operations on this memory need no copy of it, where that makes a difference to what ranks agree on.
  virtual bool is_registered(const void* data, std::size_t bytes) const = 0;

  struct Shape {
    const Schedule* schedule;   ///< whole; over messages this rank's transfers suffice
    Announcement announcement;  ///< but for the sequence, and what the engine knows
    Layout layout;
    bool registered;  ///< what goes in and where it comes out
  };
  /// The engine outlives the operation.
  virtual std::unique_ptr<RunningOperation> prepare(Shape shape) = 0;

  /// The operation by the library beneath, where one does collectives as a whole; else null. Throws Error
  /// (kUnsupported) for what that library does not do.
  virtual std::unique_ptr<RunningOperation> prepare_vendor(const Task& /*task*/, const Announcement& /*announcement*/) {
    return nullptr;
  }

  /// For messages from one rank to another.
  virtual ByteStreams& messages() = 0;

  /// Put on a network since the engine was made.
  virtual std::uint64_t bytes_sent() const = 0;

  /// Tells the peers that this rank can go no further, and why.
  virtual void fail(const Error& error) noexcept = 0;
  /// As the transport's.
  virtual void look_around() = 0;

  /// As the transport's: an engine among some of this one's ranks.
  virtual std::string open_meeting() = 0;
  virtual std::unique_ptr<Engine> join(const Meeting& meeting) = 0;
};

std::unique_ptr<Engine> make_engine(std::unique_ptr<Transport> transport);
/// `medium` is what carries the messages.
std::unique_ptr<Engine> make_engine(std::unique_ptr<MessageTransport> transport, Medium medium = Medium::kTcp);
/// For a group of one.
std::unique_ptr<Engine> make_lone_engine();

}  // namespace lockstep::detail
