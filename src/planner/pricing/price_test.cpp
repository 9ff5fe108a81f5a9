#include "planner/pricing/price.h"

#include "algorithms/catalog.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cmath>

namespace lockstep {

namespace {

const PricedNetwork kFlat{.flat = FlatCost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0}, .description = {}};

}  // namespace

TEST(Price, ASmallScheduleIsSimulated) {
  const Price price = price_algorithm("ring", {.ranks = 4, .bytes = 4000}, kFlat);
  EXPECT_EQ(price.source, Price::Source::kSimulated);
  EXPECT_EQ(price.estimate.steps, 6);
  EXPECT_NEAR(price.estimate.seconds, 6 * 2e-6, 1e-12);
  ASSERT_EQ(price.links.by_kind.size(), 2U);
  EXPECT_EQ(price.links.by_kind[0].kind, Wiring::Kind::kNicOut);
  EXPECT_NEAR(price.links.by_kind[0].mean, 1, 1e-9);
  EXPECT_EQ(price.links.each.size(), 8U);
}

/// Four ranks on each of four hosts, and the same with neighbours in rank on different hosts.
TEST(Price, AlgorithmsKnowTheHostsOfATopology) {
  const std::string head = "name = \"hosts\"\n";
  const std::string nic = "nic = { bandwidth = \"10Gbit/s\" }\n";
  std::string apart = head;
  for (int host = 0; host < 4; ++host) {
    apart += fmt::format("[[host]]\nranks = [{}, {}, {}, {}]\n{}", host, host + 4, host + 8, host + 12, nic);
  }
  const std::string together = head + "[[host]]\ncount = 4\nranks = 4\n" + nic;
  const PriceRequest request{.ranks = 16, .bytes = 16e6};
  for (const std::string& text : {together, apart}) {
    const PricedNetwork network{.flat = {}, .description = parse_network(text, "hosts")};
    const double port = 8 / 10e9;  // seconds a byte
    EXPECT_NEAR(price_algorithm("ring", request, network).estimate.seconds, 2 * 15. / 16 * request.bytes * port, 1e-6)
        << "one rank of each host sends to another";
    const Price price = price_algorithm("hierarchical:direct,ring", request, network);
    EXPECT_NEAR(price.estimate.seconds, 2 * 3. / 4 * request.bytes * port, 1e-6) << "a quarter of the buffer a rank";
    EXPECT_EQ(price.estimate.steps, 1 + 2 * 3 + 1);
  }
}

TEST(Price, ALongOneIsPricedByItsClosedFormAndSaysSo) {
  const Price price = price_algorithm("ring", {.ranks = 24576, .bytes = 8 << 20}, kFlat);
  EXPECT_EQ(price.source, Price::Source::kClosedForm);
  EXPECT_THAT(price.note, testing::HasSubstr("2(p-1)(alpha + n/p beta)"));
  EXPECT_EQ(price.estimate.steps, 49150);
  EXPECT_FALSE(price.counts.has_value());
  EXPECT_EQ(price.busiest.rank, 0);
  EXPECT_NEAR(price.busiest.sent_bytes + price.busiest.received_bytes, 4 * 24575. / 24576 * (8 << 20), 1);
  EXPECT_EQ(price.busiest.link.to, 1);
  ASSERT_EQ(price.links.by_kind.size(), 2U);
  EXPECT_NEAR(price.links.by_kind[1].mean, 1, 1e-9);
}

/// Both ways to a price say the same of everything that a row shows.
TEST(Price, AClosedFormNamesWhatTheSimulationDoes) {
  const PricedNetwork network{.flat = FlatCost{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10}, .local_size = 4};
  const auto expect_same = [&](const std::string& name, PriceRequest request) {
    const Price simulated = price_algorithm(name, request, network);
    request.most_transfers = 0;
    const Price told = price_algorithm(name, request, network);
    const std::string what = fmt::format("{} {} from {}", name, to_string(request.collective), request.root);
    ASSERT_EQ(told.source, Price::Source::kClosedForm) << what;
    EXPECT_EQ(told.busiest.rank, simulated.busiest.rank) << what;
    EXPECT_NEAR(told.busiest.received_bytes, simulated.busiest.received_bytes, 1e-3) << what;
    EXPECT_NEAR(told.busiest.link.bytes, simulated.busiest.link.bytes, 1e-3) << what;
    ASSERT_EQ(told.links.by_kind.size(), simulated.links.by_kind.size()) << what;
    for (std::size_t i = 0; i < told.links.by_kind.size(); ++i) {
      EXPECT_EQ(told.links.by_kind[i].busiest, simulated.links.by_kind[i].busiest) << what;
      EXPECT_NEAR(told.links.by_kind[i].mean, simulated.links.by_kind[i].mean, 0.01) << what;
    }
    if (request.root == 0) {
      EXPECT_EQ(told.busiest.link.from, simulated.busiest.link.from) << what;
      EXPECT_EQ(told.busiest.link.to, simulated.busiest.link.to) << what;
    }
    EXPECT_EQ(told.links.each.size(), simulated.links.each.size()) << what;
    EXPECT_EQ(told.estimate.steps, simulated.estimate.steps) << what;
    EXPECT_NEAR(told.estimate.messages, simulated.estimate.messages, 1e-6) << what;
    EXPECT_NEAR(told.estimate.bytes, simulated.estimate.bytes, 1e-3) << what;
    EXPECT_NEAR(told.estimate.most_sent_bytes, simulated.estimate.most_sent_bytes, 1e-3) << what;
  };
  for (const ClosedForm& form : closed_forms()) {
    for (const int root : {0, 5}) {
      if (root > 0 && !has_root(form.collective)) continue;
      expect_same(std::string(form.algorithm),
                  {.collective = form.collective, .ranks = 12, .root = root, .bytes = 3e6});
    }
  }
  for (const char* name : {"hierarchical:direct,ring", "hierarchical:ring,tree", "hierarchical:circulant,star",
                           "hierarchical:swing,ring", "hierarchical:bidirectional_ring,tree"}) {
    for (const int ranks : {4, 24}) expect_same(name, {.ranks = ranks, .bytes = 3e6});
  }
  for (const Collective collective : {Collective::kReduceScatter, Collective::kAllGather}) {
    for (const char* name : {"hierarchical:direct,ring", "hierarchical:circulant,swing"}) {
      expect_same(name, {.collective = collective, .ranks = 24, .bytes = 3e6});
    }
  }
}

TEST(Price, ABarrierMovesNothing) {
  const PriceRequest request{.collective = Collective::kBarrier, .ranks = 4, .bytes = 8 << 20};
  const Price star = price_algorithm("star", request, kFlat);
  EXPECT_EQ(star.source, Price::Source::kSimulated);
  EXPECT_NEAR(star.estimate.seconds, 6e-6, 1e-12) << "three messages to the root, three from it";
  EXPECT_EQ(star.estimate.bytes, 0);
  EXPECT_EQ(star.busiest.link.bytes, 0);
  EXPECT_NEAR(timing(schedule_for("star", request), kFlat)(request.bytes).value(), 6e-6, 1e-12);
  PriceRequest many = request;
  many.ranks = 24576;
  EXPECT_NEAR(price_algorithm("ring", many, kFlat).estimate.seconds, 2 * 24575e-6, 1e-9);
}

/// Nothing that the catalogue builds is too long to be simulated, of no matter how many ranks, and has no formula.
TEST(Price, EveryLongScheduleHasAClosedForm) {
  const auto source = [](std::string_view name, Collective collective, const PricedNetwork& network) {
    const PriceRequest request{.collective = collective, .ranks = 1 << 20, .bytes = 8 << 20, .most_transfers = 0};
    return price_algorithm(name, request, network).source;
  };
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : algorithm.collectives) {
      EXPECT_EQ(source(algorithm.name, collective, kFlat), Price::Source::kClosedForm)
          << algorithm.name << " " << to_string(collective);
    }
  }
  const PricedNetwork by_eight{.flat = kFlat.flat, .description = {}, .local_size = 8};
  const auto of_composition = [&](std::string_view local, std::string_view global, Collective collective) {
    return source(fmt::format("hierarchical:{},{}", local, global), collective, by_eight);
  };
  for (const std::string_view name : algorithms_for(Collective::kAllReduce)) {
    const auto expected = name == "double_tree" ? Price::Source::kNone : Price::Source::kClosedForm;
    EXPECT_EQ(of_composition(name, "circulant", Collective::kAllReduce), expected) << name << " on a host";
    EXPECT_EQ(of_composition("direct", name, Collective::kAllReduce), Price::Source::kClosedForm) << name;
  }
  EXPECT_EQ(of_composition("tree", "ring", Collective::kBarrier), Price::Source::kClosedForm);
  for (const Collective collective : {Collective::kReduceScatter, Collective::kAllGather}) {
    EXPECT_EQ(of_composition("direct", "tree", collective), Price::Source::kClosedForm);
  }
}

TEST(Price, WithoutEitherThereIsNoneAndWhy) {
  const PricedNetwork described{.flat = {}, .description = flat_network(100, {})};
  const Price price = price_algorithm("ring", {.ranks = 100, .bytes = 1, .most_transfers = 100}, described);
  EXPECT_EQ(price.source, Price::Source::kNone);
  EXPECT_THAT(price.note, testing::HasSubstr("no closed form holds on a network that is not flat"));
  const Price pipeline =
      price_algorithm("ring", {.ranks = 100, .bytes = 1, .segments = 2, .most_transfers = 100}, kFlat);
  EXPECT_EQ(pipeline.source, Price::Source::kNone);
  EXPECT_THAT(pipeline.note, testing::HasSubstr("no closed form holds for a pipeline"));
  const PricedNetwork by_four{.flat = FlatCost{}, .description = {}, .local_size = 4};
  for (const auto& [ranks, source] : {std::pair(32, Price::Source::kClosedForm), std::pair(30, Price::Source::kNone)}) {
    EXPECT_EQ(price_algorithm("hierarchical:ring,ring", {.ranks = ranks, .most_transfers = 100}, by_four).source,
              source)
        << "the last host may lack two ranks";
  }
}

TEST(Price, AloneOnItsHostARankTakesPartInTheGlobalAlgorithmOnly) {
  const PricedNetwork apart{.flat = kFlat.flat, .description = {}, .local_size = 1};
  const PriceRequest request{.ranks = 8, .bytes = 1024};
  const Price composed = price_algorithm("hierarchical:ring,tree", request, apart);
  EXPECT_EQ(composed.source, Price::Source::kSimulated);
  EXPECT_DOUBLE_EQ(composed.estimate.seconds, price_algorithm("tree", request, apart).estimate.seconds);
  const auto form = closed_form_for("hierarchical:ring,tree", request, apart);
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->evaluate(8, 1024, *apart.flat).seconds, composed.estimate.seconds,
              0.01 * composed.estimate.seconds);
  EXPECT_FALSE(closed_form_for("hierarchical:ring,tree", request, kFlat)) << "which host is whose is not said";
}

TEST(Price, OnOneHostAComposedFormIsThatOfItsLocalAlgorithm) {
  const PricedNetwork on_one{.flat = kFlat.flat, .description = {}, .local_size = 8};
  const PriceRequest request{.ranks = 8, .bytes = 1024};
  const auto form = closed_form_for("hierarchical:ring,tree", request, on_one);
  ASSERT_TRUE(form);
  EXPECT_DOUBLE_EQ(form->evaluate(8, 1024, *on_one.flat).seconds,
                   find_closed_form("ring", Collective::kAllReduce)->evaluate(8, 1024, *on_one.flat).seconds);
  EXPECT_FALSE(closed_form_for("hierarchical:ring,tree", {.ranks = 6, .bytes = 1024}, on_one)) << "it is not full";
}

TEST(Price, LengthsOfCompositionsFollowTheirHosts) {
  const PricedNetwork network{.flat = FlatCost{}, .description = {}, .local_size = 4};
  for (const char* name : {"hierarchical:ring,ring", "hierarchical:direct,tree", "hierarchical:tree,ring"}) {
    for (const int ranks : {4, 24, 30}) {
      const auto transfers =
          static_cast<double>(transfers_of(schedule_for(name, {.ranks = ranks}, network.hosts_of(ranks))));
      EXPECT_NEAR(estimated_transfers(name, {.ranks = ranks}, network), transfers, 0.01 * transfers)
          << name << " on " << ranks;
      EXPECT_EQ(estimated_transfers(name, {.ranks = ranks, .segments = 3}, network),
                3 * estimated_transfers(name, {.ranks = ranks}, network));
    }
  }
  using enum Collective;
  for (const Collective collective : {kReduceScatter, kAllGather, kBroadcast, kReduce}) {
    for (const int ranks : {4, 24, 30}) {
      const PriceRequest request{.collective = collective, .ranks = ranks};
      const auto transfers =
          static_cast<double>(transfers_of(schedule_for("hierarchical:ring,direct", request, network.hosts_of(ranks))));
      EXPECT_NEAR(estimated_transfers("hierarchical:ring,direct", request, network), transfers, 0.05 * transfers)
          << to_string(collective) << " on " << ranks;
    }
  }
  EXPECT_TRUE(kFlat.hosts_of(4).empty()) << "all alike";
  const PriceRequest many{.ranks = 24576, .bytes = 8 << 20};
  EXPECT_EQ(price_algorithm("hierarchical:ring,ring", many, network).source, Price::Source::kClosedForm);
  EXPECT_EQ(price_algorithm("hierarchical:direct,tree", many, network).source, Price::Source::kSimulated);
}

TEST(Price, LengthsOfSchedulesAreContinued) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : algorithm.collectives) {
      for (const int ranks : {65, 96, 127, 128, 161, 200, 255, 256, 257}) {
        const auto transfers =
            static_cast<double>(transfers_of(algorithm.build({.collective = collective, .ranks = ranks})));
        EXPECT_NEAR(estimated_transfers(algorithm.name, collective, ranks), transfers, 0.04 * transfers)
            << algorithm.name << " " << to_string(collective) << " on " << ranks;
      }
    }
  }
  EXPECT_NEAR(estimated_transfers("star", Collective::kAllReduce, 1'000'000), 2 * 999'999.0, 1);
}

TEST(Price, APipelineByNameIsTheAlgorithmInSegments) {
  const PricedNetwork by_four{
      .flat = FlatCost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0}, .description = {}, .local_size = 4};
  PriceRequest request{.ranks = 12, .bytes = 1 << 20};
  for (const std::string name : {"double_tree", "ring", "hierarchical:direct,ring"}) {
    const Price named = price_algorithm("segmented:4:" + name, request, by_four);
    const double transfers = estimated_transfers(name, request, by_four);
    EXPECT_EQ(estimated_transfers("segmented:4:" + name, request, by_four), 4 * transfers);
    EXPECT_FALSE(closed_form_for("segmented:4:" + name, request, by_four));
    EXPECT_EQ(closed_form_for("segmented:1:" + name, request, by_four).has_value(),
              closed_form_for(name, request, by_four).has_value());
    PriceRequest in_four = request;
    in_four.segments = 4;
    EXPECT_EQ(price_algorithm(name, in_four, by_four).estimate.seconds, named.estimate.seconds);
  }
  EXPECT_TRUE(closed_form_for("segmented:1:ring", request, by_four));
  request.most_transfers = 100;
  EXPECT_EQ(price_algorithm("segmented:4:ring", request, by_four).note,
            "about 1,056 transfers, too many to simulate, and no closed form holds for a pipeline");
  EXPECT_EQ(price_algorithm("segmented:1:ring", request, by_four).source, Price::Source::kClosedForm);
}

/// Chunks of both levels are counted right, so that nothing is taken for too long that takes milliseconds.
TEST(Price, LengthsOfUnevenHostsAreCountedToo) {
  const PricedNetwork network{.flat = FlatCost{}, .description = {}, .local_size = 96};
  const PriceRequest request{.ranks = 161, .bytes = 1 << 20};
  const char* const name = "hierarchical:halving_doubling,ring";
  const auto transfers = static_cast<double>(transfers_of(schedule_for(name, request, network.hosts_of(161))));
  EXPECT_NEAR(estimated_transfers(name, request, network), transfers, 0.04 * transfers);
  EXPECT_EQ(price_algorithm(name, request, network).source, Price::Source::kSimulated);
}

/// Of hosts whose numbers of ranks have little in common no schedule is built: 6,460 slices of 3 chunks for 56 ranks.
TEST(Price, HostsThatShareNoChunksHaveNoPriceAndAreToldWhatToDo) {
  const auto hosts_of = [](const std::vector<int>& sizes) {
    std::string text = "name = \"hosts\"\n";
    for (const int ranks : sizes) text += fmt::format("[[host]]\nranks = {}\n", ranks);
    return PricedNetwork{.flat = {}, .description = parse_network(text, "hosts")};
  };
  const char* const name = "hierarchical:ring,ring";
  EXPECT_TRUE(std::isfinite(estimated_transfers(name, {.ranks = 54}, hosts_of({17, 18, 19}))));
  const PricedNetwork network = hosts_of({17, 19, 20});
  const PriceRequest request{.ranks = 56, .bytes = 1 << 20};
  EXPECT_THROW((void)schedule_for(name, request, network.hosts_of(56)), Error) << "as algorithms/hierarchical.cpp says";
  const Price price = price_algorithm(name, request, network);
  EXPECT_EQ(price.source, Price::Source::kNone);
  EXPECT_EQ(price.note,
            "the hosts' numbers of ranks share no chunks that fit them all; use as many ranks on each host");
}

/// Where hosts are alike, there are no more chunks than the schedule has use for.
TEST(Price, HostsAlikeShareChunksHoweverManyTheyAre) {
  const PricedNetwork by_eight{.flat = FlatCost{}, .description = {}, .local_size = 8};
  EXPECT_TRUE(std::isfinite(
      estimated_transfers("hierarchical:bidirectional_ring,bidirectional_ring", {.ranks = 24576}, by_eight)));
}

/// As many as there may be are simulated, unless too many of them belong to one step.
TEST(Price, AClosedFormAnswersWhereOneStepIsTooLong) {
  const PriceRequest some{.ranks = 600, .bytes = 8 << 20};
  EXPECT_EQ(price_algorithm("direct", some, kFlat).source, Price::Source::kSimulated);
  const PriceRequest request{.ranks = 1400, .bytes = 8 << 20};
  ASSERT_LT(estimated_transfers("naive", request, kFlat), request.most_transfers);
  EXPECT_EQ(price_algorithm("naive", request, kFlat).source, Price::Source::kClosedForm);
  const PricedNetwork described{.flat = {}, .description = flat_network(400, {})};
  EXPECT_EQ(price_algorithm("ring", {.ranks = 400, .bytes = 8 << 20}, described).source, Price::Source::kSimulated);
}

namespace {

/// A host of one rank, one of two, and so on.
PricedNetwork uneven_hosts(int hosts) {
  std::string text = "name = \"uneven\"\n";
  for (int ranks = 1; ranks <= hosts; ++ranks) {
    text += fmt::format("[[host]]\nranks = {}\nnic = {{ bandwidth = \"10Gbit/s\" }}\n", ranks);
  }
  return {.flat = {}, .description = parse_network(text, "uneven")};
}

}  // namespace

/// 1.96 million transfers are not too many by themselves; all of a step end at hundreds of different times.
TEST(Price, WhatTakesTooMuchWorkIsNotSimulated) {
  const PricedNetwork uneven = uneven_hosts(44);
  const PriceRequest request{.ranks = 990, .bytes = 8 << 20};
  ASSERT_LT(estimated_transfers("direct", request, uneven), request.most_transfers);
  const Price price = price_algorithm("direct", request, uneven);
  EXPECT_EQ(price.source, Price::Source::kNone);
  EXPECT_THAT(price.note, testing::HasSubstr("too much work to simulate on this network"));
  EXPECT_EQ(price_algorithm("tree", request, uneven).source, Price::Source::kSimulated);
}

}  // namespace lockstep
