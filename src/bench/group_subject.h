#pragma once

#include "bench/collectives.h"
#include "bench/rounds.h"

#include <lockstep/group.h>

#include <utility>

namespace lockstep::bench {

/// Our own collective as a subject; `all` is the ranks that measure, of which the group may be a part.
class GroupSubject final : public Subject {
 public:
  GroupSubject(const Group& group, Collective collective, Choices choices)
      : GroupSubject(group, group, collective, std::move(choices)) {}
  GroupSubject(const Group& all, const Group& group, Collective collective, Choices choices)
      : all_(all), group_(group), start_(facts_of(collective).start), choices_(std::move(choices)) {}
  void barrier() override { all_.barrier().wait(); }
  void run(const Buffer& buffer) override { start_(group_, buffer, choices_).wait(); }

 private:
  Group all_;
  Group group_;
  decltype(CollectiveFacts::start) start_;
  Choices choices_;
};

}  // namespace lockstep::bench
