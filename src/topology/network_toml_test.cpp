#include "topology/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

void expect_refused(const std::string& text, const std::string& sentence) {
  SCOPED_TRACE(text);
  try {
    (void)parse_network(text, "net.toml");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::StartsWith("net.toml, line "));
    EXPECT_THAT(error.what(), testing::HasSubstr(sentence));
    EXPECT_THAT(error.what(), testing::AnyOf(testing::EndsWith("."), testing::EndsWith("?")));
  }
}

}  // namespace

TEST(NetworkToml, ReadsHostsAndRacks) {
  const NetworkDescription network = parse_network(R"(
name = "cluster"
gamma = "0.1ns/B"
[[rack]]
name = "left"
uplink = { bandwidth = "100Gbit/s", latency = "1us" }
[[host]]
name = "node"
count = 2
ranks = 4
sockets = 2
nics = 2
rack = "left"
memory = { bandwidth = "60GB/s" }
socket_link = { bandwidth = "30GB/s", latency = "80ns" }
core = { bandwidth = "12GB/s", message = "100ns" }
nic = { bandwidth = "25GB/s", message = "0.5us", latency = "2us" }
[[host]]
)",
                                                   "cluster.toml");
  EXPECT_EQ(network.name, "cluster");
  EXPECT_EQ(network.ranks, 9);
  ASSERT_EQ(network.hosts.size(), 3U);
  EXPECT_EQ(network.hosts[1].name, "node1");
  EXPECT_THAT(network.hosts[1].ranks, testing::ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(network.hosts[1].rack, 0);
  EXPECT_DOUBLE_EQ(network.hosts[1].nic.message_s, 0.5e-6);
  EXPECT_DOUBLE_EQ(network.racks[0].uplink.bytes_per_second, 12.5e9);
  EXPECT_EQ(network.hosts[2].rack, -1);
}

TEST(NetworkToml, RanksMayBeListed) {
  const NetworkDescription network = parse_network("[[host]]\nranks = [0, 2]\n[[host]]\nranks = [3, 1]\n", "listed");
  EXPECT_EQ(network.ranks, 4);
  EXPECT_THAT(network.hosts[1].ranks, testing::ElementsAre(3, 1));
  EXPECT_EQ(network.hosts[0].name, "host0");
  EXPECT_EQ(network.hosts[1].name, "host1");
}

TEST(NetworkToml, HostsWithoutANameAreCalledAsNobodyElseIs) {
  const NetworkDescription network =
      parse_network("[[host]]\n[[host]]\n[[host]]\nname = \"host1\"\n[[host]]\n[[host]]\ncount = 2\n", "net");
  ASSERT_EQ(network.hosts.size(), 6U);
  const std::vector<std::string> names{"host0", "host2", "host1", "host3", "host4", "host5"};
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(network.hosts[i].name, names[i]);
}

TEST(NetworkToml, EachMistakeHasItsLineAndWhatToWrite) {
  expect_refused("[[host]\n", "line 1: this is not TOML");
  expect_refused("name = \"empty\"\n", "there is no host; write at least one");
  expect_refused("[[host]]\nranks = 2\n\nskockets = 2\n",
                 "line 4: there is no key 'skockets' here. Did you mean 'sockets'?");
  std::string deep = "[[host]]\na";
  for (int part = 0; part < 300'000; ++part) deep += ".a";
  expect_refused(deep + " = 1\n", "line 2: the line is longer than 64 KiB; a list may go over several.");
  expect_refused("[[host]]\na" + std::string(129, '.') + "\n", "line 2: the line has more than 128 dots; a list may");
  // As deep as it gets: keys of 128 parts, in tables that are values of each other, as many as the library takes.
  std::string parts = "a";
  for (int part = 0; part < 128; ++part) parts += ".a";
  std::string nested = "x = ";
  for (int table = 0; table < 120; ++table) nested += "[\n{" + parts + " = ";
  nested += '1';
  for (int table = 0; table < 120; ++table) nested += "}]";
  expect_refused(nested + '\n', "line 1: there is no key 'x' here");
  std::string long_one = "[[host]]\n";
  long_one.resize(kMostNetworkTextBytes + 1, '\n');
  expect_refused(long_one, "line 16777209: the file is longer than 16 MiB.");
  expect_refused("[[host]]\nranks = 0\n", "line 2: 'ranks' is a whole number from 1");
  expect_refused("[[host]]\nranks = \"two\"\n", "line 2: 'ranks' is a whole number");
  expect_refused("[[host]]\ncount = 1048576\nranks = 1048576\n", "more than 1048576 ranks");
  expect_refused("[[host]]\nranks = 1048576\n[[host]]\n", "line 3: that makes more than 1048576 ranks");
  expect_refused("[[host]]\nsockets = 65536\n", "line 2: 'sockets' is a whole number from 1 to 64");
  expect_refused("[[host]]\ncount = 8192\nsockets = 64\n",
                 "line 1: that makes more than 16777216 links between sockets and through cards");
  expect_refused("[[host]]\ncount = 1048576\nnics = 64\n",
                 "line 1: that makes more than 16777216 links between sockets and through cards");
  std::string listed;
  for (int host = 0; host < 4100; ++host) listed += "[[host]]\nsockets = 64\nranks = [" + std::to_string(host) + "]\n";
  expect_refused(listed, "that makes more than 16777216 links between sockets and through cards");
  expect_refused("[[host]]\nrack = \"left\"\n", "line 2: there is no rack 'left'; write [[rack]]");
  expect_refused("[[rack]]\n[[host]]\n", "line 1: a rack needs a name");
  expect_refused("[[rack]]\nname = \"a\"\n[[rack]]\nname = \"a\"\n[[host]]\n", "line 3: there are two racks 'a'");
  expect_refused("[[host]]\nnic = \"25GB/s\"\n", "line 2: 'nic' is written { bandwidth");
  expect_refused("[[host]]\nnic = { bandwidth = \"fast\" }\n", "line 2: bandwidth: 'fast' is not a bandwidth");
  expect_refused("[[host]]\nnic = { bandwidth = \"0GB/s\" }\n", "is not a bandwidth above 0");
  expect_refused("[[host]]\nnic = { message = \"5\" }\n", "line 2: message: '5' is not a time");
  expect_refused("name = \"\\u001b[2J\"\n[[host]]\nranks = 1\n",
                 "line 1: 'name' has control characters; leave them out.");
  expect_refused("[[host]]\nnic = { bandwidth = 10 }\n", "line 2: 'bandwidth' is a text in quotes");
  expect_refused("gamma = \"1us\"\n[[host]]\n", "line 1: gamma: '1us' is not a time a byte");
  expect_refused("host = 4\n", "line 1: 'host' is a list of tables; write [[host]] above each");
  expect_refused("[[host]]\nranks = [0, 0]\n", "line 2: hosts list 2 ranks, so each of 0 to 1 stands once; 0 does not");
  expect_refused("[[host]]\nranks = [0, 1]\n[[host]]\nranks = [2, 5]\n",
                 "line 4: hosts list 4 ranks, so each of 0 to 3 stands once; 5 does not");
  expect_refused("[[host]]\nranks = [0]\n[[host]]\nranks = 2\n",
                 "line 3: either every host lists its ranks or none does");
  expect_refused("[[host]]\nranks = 2\n[[host]]\nranks = [2]\n",
                 "line 4: either every host lists its ranks or none does");
  expect_refused("[[host]]\ncount = 2\nranks = [0, 1]\n", "a list of ranks is for one host");
  expect_refused("[[host]]\nranks = [-1]\n", "a rank is a whole number from 0 up");
  expect_refused("[[host]]\nranks = []\n", "line 1: no host has a rank; write how many each has, as in: ranks = 4");
  expect_refused("[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"\n", "line 4: there are two hosts 'a'; names differ");
  expect_refused("[[host]]\nname = \"a1\"\n[[host]]\nname = \"a\"\ncount = 2\n", "line 4: there are two hosts 'a1'");
}

}  // namespace lockstep
