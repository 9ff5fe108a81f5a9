#pragma once

#include "bench/collectives.h"
#include "bench/rounds.h"

#include <lockstep/group.h>

#include <string>

namespace lockstep::bench {

/// Our own collective as a subject.
class GroupSubject final : public Subject {
 public:
  GroupSubject(const Group& group, Collective collective, ReduceOp op, const std::string& algorithm,
               Reduction reduction = Reduction::kFromEnvironment)
      : group_(group),
        start_(facts_of(collective).start),
        op_(op),
        choices_{.algorithm = algorithm, .purpose = {}, .reduction = reduction} {}
  void barrier() override { group_.barrier().wait(); }
  void run(const Buffer& buffer) override { start_(group_, buffer, op_, choices_).wait(); }

 private:
  Group group_;
  decltype(CollectiveFacts::start) start_;
  ReduceOp op_;
  OperationOptions choices_;
};

}  // namespace lockstep::bench
