#include "group/split.h"

#include "base/environment.h"
#include "group/placement.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::detail {

namespace {

/// What each rank says first.
struct Choice {
  std::int64_t colour;
  std::int64_t key;
  std::uint64_t nonce;  ///< rank 0's is in the names of the meetings
};

/// What the first rank of each new group says then; the others say nothing.
struct Place {
  std::array<char, Meeting::kPlaceBytes> bytes{};
  std::uint64_t size = 0;
  std::array<char, 256> fault{};  ///< why nobody can come; empty if they can
};

Place open_meeting(Engine& engine) {
  Place place;
  try {
    place.size = engine.open_meeting().copy(place.bytes.data(), place.bytes.size());
  } catch (const std::exception& error) {
    // The others wait to hear from this rank: they must all be told.
    std::string(error.what()).copy(place.fault.data(), place.fault.size() - 1);
  }
  return place;
}

template <class T>
std::vector<T> all_say(GroupState& parent, const T& own) {
  std::vector<T> said(static_cast<std::size_t>(parent.identity().size));
  said[static_cast<std::size_t>(parent.identity().rank)] = own;
  const Buffer buffer{said.data(), said.size() * sizeof(T), DataType::kUInt8};
  const Task task{.collective = Collective::kAllGather, .buffer = buffer, .block_counts = {}, .splits = true};
  parent.start(task, {.purpose = "to split the group"}).wait();
  return said;
}

std::uint64_t random_number() {
  std::random_device random;
  return static_cast<std::uint64_t>(random()) << 32U | random();
}

/// The ranks that chose as `own` did, in the order of their keys.
std::vector<int> members_of(const std::vector<Choice>& choices, std::int64_t colour) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < choices.size(); ++rank) {
    if (choices[rank].colour == colour) members.push_back(static_cast<int>(rank));
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
  });
  return members;
}

Identity identity_in(const GroupState& parent, const std::vector<int>& members, int own_rank, std::string job) {
  Identity identity;
  identity.rank = static_cast<int>(std::find(members.begin(), members.end(), own_rank) - members.begin());
  identity.size = static_cast<int>(members.size());
  identity.job = std::move(job);
  for (const int member : members) identity.world_ranks.push_back(parent.identity().world_rank(member));
  identity.hosts = placement_of(parent.identity().hosts, members);
  identity.cores = cores_of(parent.identity().cores, members);
  const Identity& all = parent.identity();
  const std::vector<RankHere> here = all.here.empty() ? ranks_here(all.hosts, all.size) : all.here;
  for (const int member : members) identity.here.push_back(here[static_cast<std::size_t>(member)]);
  return identity;
}

/// Of those who chose alike, who meet at the place if they are several.
std::shared_ptr<GroupState> group_of(GroupState& parent, const std::vector<int>& members, Identity identity,
                                     const Place& place) try {
  if (members.size() == 1) return std::make_shared<GroupState>(std::move(identity), make_lone_engine());
  auto engine = parent.engine().join({.name = identity.job,
                                      .place = {place.bytes.data(), place.size},
                                      .rank = identity.rank,
                                      .size = identity.size,
                                      .timeout = environment_duration(kJoinTimeoutVariable, std::chrono::seconds(60)),
                                      .company = {.names = members, .look = [&] { parent.look_around(); }}});
  return std::make_shared<GroupState>(std::move(identity), std::move(engine), parent.calibration());
} catch (const Error& error) {
  // Whose argument is wrong has its group as before; this one ends, and on all ranks.
  if (error.code() != ErrorCode::kInvalidArgument) throw;
  throw Error(ErrorCode::kTransport, error.what(), error.context());
}

/// Who chose as this rank did, and where they meet.
struct Company {
  std::vector<int> members;
  Place place;
};

/// The others go on to where they meet: a rank that cannot is not as before.
Company company_of(GroupState& parent, const std::vector<Choice>& choices, int colour) {
  try {
    std::vector<int> members = members_of(choices, colour);
    const int first = members.front();
    const bool leads = first == parent.identity().rank && members.size() > 1;
    const auto places = all_say(parent, leads ? open_meeting(parent.engine()) : Place());
    return {.members = std::move(members), .place = places[static_cast<std::size_t>(first)]};
  } catch (const std::exception& thrown) {
    parent.throw_if_failed();  // all have been told
    const auto* const error = dynamic_cast<const Error*>(&thrown);
    const bool is_lack_of_memory = error != nullptr && error->code() == ErrorCode::kOutOfMemory;
    if (is_lack_of_memory) parent.fail_to_split(std::bad_alloc());
    parent.fail_to_split(thrown);
  }
}

}  // namespace

std::shared_ptr<GroupState> split(GroupState& parent, int colour, int key) {
  const int rank = parent.identity().rank;
  const auto choices = all_say(parent, Choice{colour, key, random_number()});
  const auto [members, place] = company_of(parent, choices, colour);
  if (place.fault.front() != '\0') {
    throw Error(ErrorCode::kTransport,
                fmt::format("Rank {}{}: split: rank {} could not open a meeting: {}", rank,
                            of_which_group(parent.identity()), members.front(), place.fault.data()),
                {.rank = rank, .peer = members.front()});
  }

  // The others would wait for a rank that fails here: they are told by the group that all are of already.
  try {
    Identity identity =
        identity_in(parent, members, rank, fmt::format("group-{:016x}-{}", choices.front().nonce, colour));
    return group_of(parent, members, std::move(identity), place);
  } catch (const std::exception& thrown) {
    parent.fail_to_split(thrown);
  }
}

}  // namespace lockstep::detail
