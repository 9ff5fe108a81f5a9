#include "bench/collectives.h"

#include "schedule/promise.h"

#include <algorithm>
#include <array>
#include <iterator>

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
Content reduced_at_root(const Place& place) { return place.rank == place.root ? reduced(place) : Content{}; }
Content gathered_at_root(const Place& place) { return place.rank == place.root ? of_owner(place) : Content{}; }
Content of_root_in_own_block(const Place& place) { return place.block == place.rank ? of_root(place) : Content{}; }
Content input_only(const Place& place) { return place.output ? Content{} : own(place); }
Content exchanged(const Place& place) {
  return place.output ? Content{Kind::kContribution, place.block, place.rank} : own(place);
}

double one(double) { return 1; }
double nothing_moves(double) { return 0; }
double all_but_own(double ranks) { return (ranks - 1) / ranks; }
double twice_all_but_own(double ranks) { return 2 * (ranks - 1) / ranks; }

const std::array kFacts{
    CollectiveFacts{Collective::kAllReduce, false, true, true, own, reduced, twice_all_but_own,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      return group.all_reduce(buffer, choices.op, choices.options);
                    }},
    CollectiveFacts{Collective::kReduceScatter, true, false, true, own, reduced_in_own_block, all_but_own,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      return group.reduce_scatter(buffer, choices.op, choices.options);
                    }},
    CollectiveFacts{Collective::kAllGather, true, true, true, own_block, of_owner, all_but_own,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      return group.all_gather(buffer, choices.options);
                    }},
    CollectiveFacts{Collective::kBroadcast, false, true, true, at_root, of_root, one,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      return group.broadcast(buffer, choices.root, choices.options);
                    }},
    CollectiveFacts{Collective::kReduce, false, false, true, own, reduced_at_root, one,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      return group.reduce(buffer, choices.root, choices.op, choices.options);
                    }},
    CollectiveFacts{Collective::kGather, true, false, true, own_block, gathered_at_root, all_but_own,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      return group.gather(buffer, choices.root, choices.options);
                    }},
    CollectiveFacts{Collective::kScatter, true, false, true, at_root, of_root_in_own_block, all_but_own,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      return group.scatter(buffer, choices.root, choices.options);
                    }},
    CollectiveFacts{Collective::kAllToAll, true, true, false, input_only, exchanged, all_but_own,
                    [](const Group& group, Buffer buffer, const Choices& choices) {
                      const void* const input = buffer.data;
                      buffer.data = static_cast<unsigned char*>(buffer.data) + buffer.count * size_of(buffer.dtype);
                      return group.all_to_all(input, buffer, choices.options);
                    }},
    CollectiveFacts{Collective::kBarrier, false, true, true, nothing, nothing, nothing_moves,
                    [](const Group& group, Buffer, const Choices& choices) { return group.barrier(choices.options); }},
};

}  // namespace

const CollectiveFacts& facts_of(Collective collective) {
  static_assert(kFacts.size() == std::size(kCollectives), "each collective has its line");
  return *std::find_if(kFacts.begin(), kFacts.end(),
                       [&](const CollectiveFacts& facts) { return facts.collective == collective; });
}

std::size_t whole_bytes(Collective collective, std::size_t bytes, DataType dtype, int ranks) {
  const std::size_t unit = size_of(dtype) * (facts_of(collective).in_blocks ? static_cast<std::size_t>(ranks) : 1);
  return std::max<std::size_t>(bytes / unit, 1) * unit;
}

}  // namespace lockstep::bench
