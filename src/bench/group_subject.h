#pragma once

#include "bench/collectives.h"
#include "bench/rounds.h"

#include <lockstep/group.h>

#include <utility>

namespace lockstep::bench {

/// Our own collective as a subject.
class GroupSubject final : public Subject {
 public:
  GroupSubject(const Group& group, Collective collective, Choices choices)
      : group_(group), start_(facts_of(collective).start), choices_(std::move(choices)) {}
  void barrier() override { group_.barrier().wait(); }
  void run(const Buffer& buffer) override { start_(group_, buffer, choices_).wait(); }

 private:
  Group group_;
  decltype(CollectiveFacts::start) start_;
  Choices choices_;
};

}  // namespace lockstep::bench
