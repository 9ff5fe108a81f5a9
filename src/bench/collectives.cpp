#include "bench/collectives.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <array>

namespace lockstep::bench {

namespace {

using Kind = Content::Kind;

Content nothing(const Place&) { return {}; }
Content own(const Place& place) { return {Kind::kContribution, place.rank, place.block}; }
Content of_owner(const Place& place) { return {Kind::kContribution, place.block, place.block}; }
Content of_root(const Place& place) { return {Kind::kContribution, place.root, place.block}; }
Content reduced(const Place& place) { return {Kind::kReduced, 0, place.block}; }
Content own_block(const Place& place) { return place.block == place.rank ? own(place) : Content{}; }
Content reduced_in_own_block(const Place& place) { return place.block == place.rank ? reduced(place) : Content{}; }
Content at_root(const Place& place) { return place.rank == place.root ? own(place) : Content{}; }

double one(double) { return 1; }
double nothing_moves(double) { return 0; }
double all_but_own(double ranks) { return (ranks - 1) / ranks; }
double twice_all_but_own(double ranks) { return 2 * (ranks - 1) / ranks; }

using Choices = const OperationOptions&;

const std::array kFacts{
    CollectiveFacts{Collective::kAllReduce, false, true, own, reduced, twice_all_but_own,
                    [](const Group& group, Buffer buffer, ReduceOp op, Choices choices) {
                      return group.all_reduce(buffer, op, choices);
                    }},
    CollectiveFacts{Collective::kReduceScatter, true, false, own, reduced_in_own_block, all_but_own,
                    [](const Group& group, Buffer buffer, ReduceOp op, Choices choices) {
                      return group.reduce_scatter(buffer, op, choices);
                    }},
    CollectiveFacts{
        Collective::kAllGather, true, true, own_block, of_owner, all_but_own,
        [](const Group& group, Buffer buffer, ReduceOp, Choices choices) { return group.all_gather(buffer, choices); }},
    CollectiveFacts{Collective::kBroadcast, false, true, at_root, of_root, one,
                    [](const Group& group, Buffer buffer, ReduceOp, Choices choices) {
                      return group.broadcast(buffer, 0, choices);
                    }},
    CollectiveFacts{Collective::kBarrier, false, true, nothing, nothing, nothing_moves,
                    [](const Group& group, Buffer, ReduceOp, Choices choices) { return group.barrier(choices); }},
};

}  // namespace

const CollectiveFacts& facts_of(Collective collective) {
  for (const CollectiveFacts& facts : kFacts) {
    if (facts.collective == collective) return facts;
  }
  throw Error(ErrorCode::kUnsupported, fmt::format("`lockstep bench` cannot measure {} yet.", to_string(collective)));
}

}  // namespace lockstep::bench
