#pragma once

#include "runtime/message_operation.h"
#include "runtime/running_operation.h"
#include "runtime/vigil.h"
#include "transport/message_transport.h"
#include "transport/vendor.h"

#include <memory>

namespace lockstep {

/// A collective that the library beneath the transport does as a whole. The ranks meet first, so that whoever is about
/// something else, does not come or has failed is found as everywhere; then all of them hand their buffers over.
class VendorOperation final : public RunningOperation {
 public:
  struct Setup {
    std::unique_ptr<MessageOperation> meeting;  ///< of the same announcement
    std::unique_ptr<VendorCollective> collective;
    Announcement announcement;  ///< but for the sequence
    Layout::Span reduced;       ///< what of the output holds a reduction in the end, on this rank
  };
  VendorOperation(MessageTransport& transport, Setup setup);

  void wait_for_peer_until(Time at_most) override;
  void add_awaited_sockets(std::vector<pollfd>& sockets) override;
  /// Of what the library keeps nothing is known.
  std::size_t bytes_kept() const override { return sizeof *this + meeting_->bytes_kept(); }

 private:
  void enter() override;
  bool go_on() override;
  /// The library sums; of a mean this is what is left to do.
  void divide();

  MessageTransport& transport_;
  std::unique_ptr<MessageOperation> meeting_;
  std::unique_ptr<VendorCollective> collective_;
  Layout::Span reduced_;
  bool handed_over_ = false;
  Vigil vigil_;  ///< since it was handed over
};

}  // namespace lockstep
