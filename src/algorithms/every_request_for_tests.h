#pragma once

#include "algorithms/catalog.h"
#include "schedule/promise.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {

/// What the algorithm can be asked for on `ranks` ranks: every collective, with every root. For a composition three
/// neighbours share a host, and the last has what is left.
template <class Use>
void for_each_request_of(const Algorithm& algorithm, int ranks, const Use& use) {
  std::vector<int> hosts;
  for (int rank = 0; rank < ranks && algorithm.name.find(':') != std::string::npos; ++rank) hosts.push_back(rank / 3);
  for (const Collective collective : algorithm.collectives) {
    const int roots = has_root(collective) ? ranks : 1;
    for (int root = 0; root < roots; ++root) {
      SCOPED_TRACE(::testing::Message() << algorithm.name << " " << to_string(collective) << " on " << ranks
                                        << " ranks from " << root);
      use(ScheduleRequest{.collective = collective, .ranks = ranks, .root = root, .hosts = hosts});
    }
  }
}

/// The same for every algorithm of the catalogue.
template <class Use>
void for_each_request_on(int ranks, const Use& use) {
  for (const Algorithm& algorithm : algorithms()) {
    for_each_request_of(algorithm, ranks, [&](const ScheduleRequest& request) { use(algorithm, request); });
  }
}

template <class Use>
void for_each_request(int most_ranks, const Use& use) {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) for_each_request_on(ranks, use);
}

/// The catalogue, some compositions and some pipelines, for tests of which ctest runs one an algorithm.
inline std::vector<std::string> names_of_algorithms() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.push_back(algorithm.name);
  for (const char* parts : {"direct,ring", "naive,tree", "ring,halving_doubling"}) {
    names.push_back("hierarchical:" + std::string(parts));
  }
  for (const char* pipeline : {"segmented:3:double_tree", "segmented:2:ring"}) names.emplace_back(pipeline);
  return names;
}

/// Every request on `ranks` ranks of the compositions among those: where three neighbours share a host, and where
/// neighbours are on two hosts by turns.
template <class Use>
void for_each_composed_request_on(int ranks, const Use& use) {
  std::vector<int> by_turns;
  for (int rank = 0; rank < ranks; ++rank) by_turns.push_back(rank % 2);
  for (const std::string& name : names_of_algorithms()) {
    if (!composition_of(name)) continue;
    const Algorithm composed = find_algorithm(name);
    for_each_request_of(composed, ranks, [&](ScheduleRequest request) {
      use(composed, request);
      SCOPED_TRACE("on two hosts by turns");
      request.hosts = by_turns;
      use(composed, request);
    });
  }
}

/// As what a test is called by.
inline std::string test_name(const ::testing::TestParamInfo<std::string>& name) {
  std::string word;
  for (const char c : name.param) word += c == ':' || c == ',' ? '_' : c;
  return word;
}

}  // namespace lockstep
