#include "schedule/builder.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <utility>

namespace lockstep {

namespace {

void require(bool condition, const ScheduleBuilder::Shape& shape, std::string_view what) {
  if (condition) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The schedule '{}' for {} on {} ranks in {} chunks cannot be built: {}.", shape.name,
                          to_string(shape.collective), shape.ranks, shape.chunks, what));
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(Shape shape) : only_rank_(shape.only_rank) {
  require(shape.ranks >= 1, shape, "it needs at least one rank");
  require(shape.chunks >= 1, shape, "it needs at least one chunk");
  require(shape.root >= 0 && shape.root < shape.ranks, shape,
          fmt::format("there is no rank {} to start at", shape.root));
  require(!only_rank_ || (*only_rank_ >= 0 && *only_rank_ < shape.ranks), shape,
          fmt::format("there is no rank {} to build it for", only_rank_.value_or(0)));
  schedule_ = {.name = std::move(shape.name),
               .collective = shape.collective,
               .ranks = shape.ranks,
               .chunks = shape.chunks,
               .root = shape.root,
               .steps = {}};
}

void ScheduleBuilder::add(TransferKind kind, int chunk, Link link) {
  open_has_transfers_ = true;
  if (only_rank_ && link.from != *only_rank_ && link.to != *only_rank_) return;
  open_.push_back({.kind = kind, .chunk = chunk, .from = link.from, .to = link.to});
}

void ScheduleBuilder::end_step() {
  if (!open_has_transfers_) return;
  schedule_.steps.push_back(std::exchange(open_, {}));
  open_has_transfers_ = false;
}

Schedule ScheduleBuilder::take() {
  end_step();
  return std::move(schedule_);
}

}  // namespace lockstep
