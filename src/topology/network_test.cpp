#include "topology/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

TEST(Network, AFlatOneHasAPortARank) {
  const NetworkDescription network = flat_network(3, {.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 1e-10});
  ASSERT_EQ(network.hosts.size(), 3U);
  EXPECT_THAT(network.hosts[2].ranks, testing::ElementsAre(2));
  EXPECT_DOUBLE_EQ(network.hosts[2].nic.bytes_per_second, 1e9);
  EXPECT_DOUBLE_EQ(network.gamma_s, 1e-10);
}

TEST(Network, FirstRanksAreWhereTheyWere) {
  const NetworkDescription network = first_ranks(flat_network(3, {}), 2);
  EXPECT_EQ(network.ranks, 2);
  EXPECT_THAT(host_of_each_rank(network, 2), testing::ElementsAre(0, 1));
  const NetworkDescription listed = parse_network("[[host]]\nranks = [3, 1]\n[[host]]\nranks = [2, 0]\n", "net");
  EXPECT_THAT(host_of_each_rank(listed, 3), testing::ElementsAre(1, 0, 1));
  try {
    (void)first_ranks(flat_network(3, {}), 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "flat network has 3 ranks, and -n asks for 4; ask for at most 3.");
  }
}

}  // namespace lockstep
