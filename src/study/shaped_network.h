#pragma once

#include "base/file_descriptor.h"
#include "study/children.h"

#include <string>
#include <vector>

namespace lockstep::study {

/// A network of so many ranks on this host: each, or each few neighbours, has a card that sends and receives
/// `bytes_per_second`, and a switch joins them. Who shares a card counts as on one host. Each card is in a Linux
/// network namespace of its own (veth, shaped both ways by a token bucket). The namespaces have no names, only
/// descriptors of this process, so that nothing is left behind however it ends.
class ShapedNetwork {
 public:
  /// Throws Error (kUnsupported) with a sentence that says why it cannot be made here: no leave, no `ip`, `tc` or
  /// `nsenter`, a kernel without what it takes. A user who is not root becomes so in a user namespace, where the system
  /// lets them: then this process is in that namespace from here on; it must have one thread.
  ShapedNetwork(int ranks, double bytes_per_second, Children& children, int ranks_a_card = 1);

  int ranks() const { return ranks_; }

  /// The command that runs `program` as a rank with its card, for `lockstep run`.
  std::vector<std::string> as_rank(const std::vector<std::string>& program) const;

 private:
  int ranks_;
  int ranks_a_card_;
  FileDescriptor switch_;
  std::vector<FileDescriptor> cards_;
};

}  // namespace lockstep::study
