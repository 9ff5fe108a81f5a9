// `lockstep price` as a person uses it.
#include "algorithms/catalog.h"
#include "cli/program_for_tests.h"
#include "group/stored_calibration_for_tests.h"
#include "planner/calibration/calibrated_timing.h"
#include "planner/one_host/tcp_model_for_tests.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

namespace lockstep {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::Result;

/// What --calibrated says of a ring on two ranks.
double calibrated_ring_seconds(const std::string& transport) {
  const Result result =
      lockstep_with({"price", "ring", "-n", "2", "--bytes", "1MiB", "--calibrated", transport, "--format", "json"});
  EXPECT_EQ(result.code, 0) << result.errors;
  const auto row = nlohmann::json::parse(result.output).at("rows").at(0);
  EXPECT_EQ(row.at("source"), "calibrated");
  return row.at("seconds");
}

/// What the textbook says of an all_reduce of n bytes on p ranks, where nothing else is said of the network than that
/// alpha is 5 us, a port carries 10 GB/s and a byte is reduced in 0.1 ns: the time of its messages and bytes.
struct Textbook {
  double messages;  ///< after one another
  double sent;      ///< on the way that takes longest, in buffers
  double reduced;

  double seconds(double n) const { return messages * 5e-6 + n * (sent * 1e-10 + reduced * 1e-10); }
};
using TextbookForm = std::function<Textbook(double p)>;

Textbook ring_of(double p) { return {2 * (p - 1), 2 * (p - 1) / p, (p - 1) / p}; }

/// The eight ranks of a host, and then those who have the same eighth on the other hosts.
Textbook two_rings_of(double p) {
  const Textbook local = ring_of(8);
  const Textbook global = ring_of(p / 8);
  return {local.messages + global.messages, local.sent + global.sent / 8, local.reduced + global.reduced / 8};
}

Textbook tree_of(double p) {
  const double h = std::ceil(std::log2(p));
  return {2 * h, 2 * h, h};
}

/// A rank takes both of its children's halves, one after the other. Only the root of a tree that is not full need not:
/// going up until there are 2^(h+1) - 2 ranks, going down until there are 3/2 2^h.
Textbook two_trees_of(double p) {
  const double h = std::floor(std::log2(p));
  const double up = 2 * h - 1;
  const double down = p < 1.5 * std::exp2(h) ? 2 * h - 1 : 2 * h;
  return {up + down, (up + down) / 2, up / 2};
}

const std::map<std::string, TextbookForm> kTextbook{
    {"ring", ring_of}, {"hierarchical:ring,ring", two_rings_of}, {"tree", tree_of}, {"double_tree", two_trees_of}};

/// Where the first of these becomes faster than the second.
using Crossings = std::map<std::pair<std::string, std::string>, double>;

Crossings crossings_over_bytes(double p) {
  Crossings found;
  for (const auto& [a, form_of_a] : kTextbook) {
    for (const auto& [b, form_of_b] : kTextbook) {
      const Textbook above = form_of_a(p);
      const Textbook below = form_of_b(p);
      const double a_byte = below.seconds(1) - below.seconds(0) - above.seconds(1) + above.seconds(0);
      const double bytes = (above.seconds(0) - below.seconds(0)) / a_byte;
      if (a_byte > 0 && bytes > 64 && bytes < 1 << 30) found[{a, b}] = bytes;
    }
  }
  return found;
}

/// Of powers of two. Those who are equal on one host do not cross where they part.
Crossings crossings_over_ranks(double bytes, int most_ranks) {
  Crossings found;
  for (const auto& [a, above] : kTextbook) {
    for (const auto& [b, below] : kTextbook) {
      bool was_slower = false;
      for (int p = 8; p <= most_ranks; p *= 2) {
        const double faster_by = below(p).seconds(bytes) - above(p).seconds(bytes);
        if (was_slower && faster_by > 0) found[{a, b}] = p;
        was_slower = faster_by < -1e-12;
      }
    }
  }
  return found;
}

/// What the table says below the line that begins so: rows of a place, who is faster and than whom.
Crossings crossings_in(const std::string& table, const std::string& beginning) {
  std::istringstream lines(table);
  std::string line;
  while (!line.starts_with(beginning) && std::getline(lines, line)) {
  }
  while (!line.starts_with("  from ") && std::getline(lines, line)) {
  }
  Crossings found;
  while (std::getline(lines, line) && !line.starts_with("  curves: ")) {
    std::istringstream words(line);
    const std::vector<std::string> parts{std::istream_iterator<std::string>(words), {}};
    const std::pair<std::string, std::string> pair{parts.at(parts.size() - 2), parts.back()};
    if (!kTextbook.contains(pair.first) || !kTextbook.contains(pair.second)) continue;
    double at = std::stod(parts[0]);
    if (parts[1] == "KiB") at *= 1 << 10;
    if (parts[1] == "MiB") at *= 1 << 20;
    EXPECT_TRUE(found.emplace(pair, at).second) << line << " stands there again";
  }
  return found;
}

/// What is printed has three digits.
void expect_near(const Crossings& expected, const Crossings& found, double part) {
  for (const auto& [pair, at] : expected) {
    SCOPED_TRACE(pair.first + " below " + pair.second);
    ASSERT_TRUE(found.contains(pair)) << "at " << at;
    EXPECT_NEAR(found.at(pair), at, part * at);
  }
  EXPECT_EQ(found.size(), expected.size());
}

/// The picture has a line for each algorithm, and a circle at each of the crossings.
void expect_drawn(const std::string& over, const Crossings& expected) {
  const std::string picture =
      lockstep_with({"price", "all", "-n", "24576", "--bytes", "8MiB", "--format", "svg", "--over", over}).output;
  for (const auto& [name, form] : kTextbook) {
    EXPECT_THAT(picture, AllOf(HasSubstr(">" + name + "</text>"), HasSubstr("<title>" + name + ", ")));
  }
  for (const auto& [pair, at] : expected) {
    const std::string words = std::string(": from here on") + (over == "ranks" ? ", at powers of two, " : " ") +
                              pair.first + " is faster than " + pair.second + "</title></circle>";
    EXPECT_THAT(picture, HasSubstr(words));
  }
}

}  // namespace

class CliPrice : public testing_support::TemporaryFolder {};

TEST_F(CliPrice, SaysWhatAlgorithmsCost) {
  EXPECT_THAT(lockstep_with({"price", "ring", "-n", "4", "--bytes", "1MiB", "--format", "json"}).output,
              AllOf(StartsWith("{"), HasSubstr(R"("most_sent_bytes": 1572864.0)")));
  EXPECT_THAT(lockstep_with({"price", "ring", "tree", "-n", "4", "--bytes", "1MiB", "--format", "svg"}).output,
              AllOf(StartsWith("<?xml"), HasSubstr(">tree</text>")));
  const std::string topology = write("net.toml", "name = \"mine\"\n[[host]]\nranks = 4\n", kPlainFile);
  EXPECT_THAT(lockstep_with({"price", "ring", "--bytes", "1MiB", "--topology", topology}).output,
              HasSubstr("on 4 ranks: mine"));
  const std::string file = folder_ / "ring.txt";
  EXPECT_EQ(lockstep_with({"show", "ring", "-n", "3", "--format", "schedule", "-o", file}).code, 0);
  EXPECT_THAT(lockstep_with({"price", file, "--bytes", "1MiB"}).output, HasSubstr("of 1 MiB on 3 ranks"));
}

TEST(CliPriceCrossings, OfRingsAndTreesOn24576RanksAreTheTextbooks) {
  constexpr int kRanks = 24576;
  constexpr double kBytes = 8 << 20;
  const Result all = lockstep_with({"price", "all", "-n", "24576", "--bytes", "8MiB"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.output,
              AllOf(HasSubstr("closed form"), HasSubstr("simulated"), HasSubstr("by ranks"),
                    HasSubstr("\nhierarchical:ring,ring "), HasSubstr("\nhierarchical:direct,halving_doubling "),
                    HasSubstr(" 0 to 1: 16.0 MiB "), HasSubstr("out 100/100%, in 100/100%")));
  const Crossings over_bytes = crossings_over_bytes(kRanks);
  EXPECT_EQ(over_bytes.size(), 5U) << "all pairs but the two rings";
  expect_near(over_bytes, crossings_in(all.output, "At 24576 ranks, by bytes: "), 0.005);
  const Crossings over_ranks = crossings_over_ranks(kBytes, kRanks);
  EXPECT_EQ(over_ranks.size(), 2U) << "a ring of all with either tree";
  expect_near(over_ranks, crossings_in(all.output, "At 8 MiB, by ranks, at powers of two: "), 0);
  expect_drawn("bytes", over_bytes);
  expect_drawn("ranks", over_ranks);
}

TEST(CliPriceCrossings, AreOfTheTextbooksTimes) {
  std::vector<std::string> words{"price", "-n", "24576", "--bytes", "8MiB", "--format", "json"};
  for (const auto& [name, form] : kTextbook) words.push_back(name);
  const auto report = nlohmann::json::parse(lockstep_with(words).output);
  EXPECT_EQ(report.at("rows").size(), kTextbook.size());
  for (const auto& row : report.at("rows")) {
    const double seconds = kTextbook.at(row.at("algorithm"))(24576).seconds(8 << 20);
    EXPECT_NEAR(row.at("seconds"), seconds, 0.01 * seconds) << row.at("algorithm");
  }
}

TEST_F(CliPrice, TakesAPipeline) {
  const Result pipeline = lockstep_with({"price", "tree", "-n", "4", "--bytes", "1MiB", "--segments", "8"});
  EXPECT_EQ(pipeline.code, 0) << pipeline.errors;
  EXPECT_THAT(pipeline.output, HasSubstr("all_reduce of 1 MiB on 4 ranks in 8 segments: "));
  EXPECT_THAT(pipeline.output, testing::ContainsRegex("tree +11 ")) << "4 steps, and 7 more";
  EXPECT_THAT(lockstep_with({"price", "ring", "-n", "24576", "--bytes", "8MiB", "--segments", "2"}).output,
              AllOf(HasSubstr("no closed form holds for a pipeline"), Not(HasSubstr("beta"))));
  EXPECT_THAT(
      lockstep_with({"price", "tree", "-n", "4", "--bytes", "1MiB", "--segments", "2", "--format", "svg"}).output,
      HasSubstr("all_reduce on 4 ranks in 2 segments: "));
  const std::string file = folder_ / "tree.txt";
  EXPECT_EQ(lockstep_with({"show", "tree", "-n", "4", "--format", "schedule", "-o", file}).code, 0);
  EXPECT_THAT(lockstep_with({"price", file, "--bytes", "1MiB", "--segments", "8"}).output,
              testing::ContainsRegex("tree +11 "));
  for (const char* wrong : {"0", "-1", "many", "1.5", "65537"}) {
    expect_usage_error({"price", "tree", "-n", "4", "--bytes", "1MiB", "--segments", wrong},
                       std::string("--segments takes a number from 1 to 65536; '") + wrong + "' is not one.");
  }
  expect_usage_error({"price", file, "--bytes", "1MiB", "--segments", "1000000"}, "--segments takes a number");
  expect_usage_error({"price", file, "--bytes", "1MiB", "--collective", "broadcast"}, "is a schedule for all_reduce");
  expect_usage_error({"price", file, "--bytes", "1MiB", "--local-size", "2"}, "--local-size is for algorithms");
}

/// From where one of three neighbours can be told in memory, and where none can.
TEST_F(CliPrice, TakesARoot) {
  const std::string topology = write("net.toml",
                                     "[[host]]\nranks = 1\nnic = { bandwidth = \"1GB/s\" }\n"
                                     "[[host]]\nranks = 3\nnic = { bandwidth = \"1GB/s\" }\n",
                                     kPlainFile);
  const auto of_root = [&](const std::string& root, std::vector<std::string> more) {
    more.insert(more.begin(), {"price", "--collective", "broadcast", "--bytes", "1MiB", "--format", "json"});
    if (!root.empty()) more.insert(more.end(), {"--root", root});
    const Result result = lockstep_with(more);
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.output);
  };
  const auto of_first = of_root("", {"star", "--topology", topology});
  const auto of_third = of_root("2", {"star", "--topology", topology});
  EXPECT_EQ(of_first.at("root"), 0);
  EXPECT_EQ(of_third.at("root"), 2);
  EXPECT_EQ(of_third.at("rows").at(0).at("busiest_rank"), 2);
  EXPECT_LT(of_third.at("rows").at(0).at("seconds"), of_first.at("rows").at(0).at("seconds"));
  const auto by_form = of_root("7", {"ring", "-n", "24576"}).at("rows").at(0);
  EXPECT_EQ(by_form.at("source"), "closed form");
  EXPECT_EQ(by_form.at("busiest_link").at("from"), 7) << "where the chain begins";
  EXPECT_EQ(of_root("5", {"star", "tree", "-n", "6"}).at("over_ranks").at("points"), (std::vector<double>{2, 4, 6}))
      << "of 2 ranks and of 4 the last is the root";
  EXPECT_THAT(lockstep_with({"price", "star", "-n", "4", "--bytes", "1", "--collective", "reduce"}).output,
              StartsWith("reduce of 1 B with root 0 on 4 ranks: "));
}

TEST_F(CliPrice, TakesTheRootOfAFile) {
  const std::string file = folder_ / "tree.txt";
  ASSERT_EQ(lockstep_with({"show", "tree", "-n", "4", "--collective", "reduce", "--root", "3", "--format", "schedule",
                           "-o", file})
                .code,
            0);
  EXPECT_THAT(lockstep_with({"price", file, "--bytes", "1MiB"}).output, HasSubstr(" with root 3 on 4 ranks"));
  EXPECT_EQ(lockstep_with({"price", file, "--bytes", "1MiB", "--root", "3"}).code, 0);
  expect_usage_error({"price", file, "--bytes", "1MiB", "--root", "0"}, "is a schedule with root 3, not 0;");
  expect_usage_error({"price", "star", "-n", "4", "--bytes", "1", "--collective", "reduce", "--root", "4"},
                     "--root takes a rank from 0 to 3; '4' is not one.");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--root", "1"},
                     "--root is for broadcast, scatter, reduce and gather; all_reduce has none.");
}

/// Schedules of more than 200,000 transfers, of which two are no matter.
TEST_F(CliPrice, NamesNoFastestOfFewerThanWereAskedFor) {
  const Result pipeline = lockstep_with(
      {"price", "ring", "double_tree", "-n", "64", "--bytes", "64MiB", "--segments", "26", "--format", "json"});
  EXPECT_THAT(pipeline.output, AllOf(HasSubstr("\"over_bytes\""), Not(HasSubstr("null"))));
  const Result hosts = lockstep_with({"price", "ring", "hierarchical:ring,ring", "-n", "127", "--bytes", "64KiB"});
  EXPECT_THAT(hosts.output, HasSubstr("; at 127: hierarchical:ring,ring\n"));
}

TEST_F(CliPrice, RangesBeginWhereTheTableSaysThatOneBecomesFaster) {
  const Result result =
      lockstep_with({"price", "ring", "hierarchical:ring,ring", "-n", "12", "--local-size", "5", "--bytes", "1MiB"});
  const std::string table = result.output;
  const std::size_t row = table.find("\n  from");
  ASSERT_NE(row, std::string::npos) << table;
  std::istringstream below(table.substr(table.find('\n', row + 1)));
  std::string number;
  std::string unit;
  below >> number >> unit;
  EXPECT_THAT(table,
              HasSubstr(number + " " + unit + " hierarchical:ring,ring, " + number + " " + unit + "-1 GiB ring\n"));
}

TEST_F(CliPrice, OfOneRankNothingIsCompared) {
  const Result result = lockstep_with({"price", "all", "-n", "1", "--bytes", "1MiB"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("on 1 rank: "), Not(HasSubstr("1 ranks")), Not(HasSubstr("by ranks"))));
}

TEST(CliPriceRefuses, WhatAnAlgorithmDoesNotDoOfAnyNumberOfRanks) {
  for (const char* ranks : {"16", "24576"}) {
    expect_usage_error(
        {"price", "hierarchical:naive,ring", "-n", ranks, "--bytes", "8MiB", "--collective", "broadcast"},
        "The algorithm 'hierarchical:naive,ring' does no broadcast, but all_reduce, barrier;");
  }
}

/// Half a million messages of one step, and no more transfers.
TEST_F(CliPrice, AFileThatIsTooMuchWorkIsRefused) {
  const std::string file = folder_ / "direct.txt";
  ASSERT_EQ(
      lockstep_with({"show", "direct", "--collective", "all_gather", "-n", "708", "--format", "schedule", "-o", file})
          .code,
      0);
  expect_usage_error({"price", file, "--bytes", "8MiB"},
                     "' is too much work to simulate, since too many of its messages are under way at once; price a "
                     "schedule of fewer ranks, or one that sends fewer in a step.");
}

TEST(CliPriceBarrier, IsComparedOverRanksAlone) {
  const std::vector<std::string> barrier{"price", "star", "tree", "-n", "16", "--collective", "barrier", "--format"};
  const auto in_format = [&](const std::string& format) {
    std::vector<std::string> words = barrier;
    words.push_back(format);
    const Result result = lockstep_with(words);
    EXPECT_EQ(result.code, 0) << result.errors;
    return result.output;
  };
  EXPECT_THAT(in_format("svg"), AllOf(HasSubstr(">barrier: alpha "), HasSubstr(">ranks</text>"),
                                      HasSubstr(">tree</text>"), Not(HasSubstr("0 B"))));
  EXPECT_THAT(in_format("json"), AllOf(HasSubstr("\"over_ranks\""), Not(HasSubstr("\"over_bytes\""))));
  EXPECT_THAT(in_format("table"), AllOf(HasSubstr("\nBy ranks, at powers of two: "), Not(HasSubstr("by bytes"))));
}

TEST_F(CliPrice, AnswersBadUsageInOneSentence) {
  expect_usage_error({"price"}, "An algorithm, all, or a file with a schedule is needed");
  expect_usage_error({"price", "rign", "-n", "4", "--bytes", "1MiB"}, "Did you mean 'ring'?");
  expect_usage_error({"price", "ring", "-n", "4"}, "--bytes says how much is moved");
  EXPECT_EQ(lockstep_with({"price", "star", "--collective", "barrier", "-n", "4"}).code, 0) << "moves none";
  expect_usage_error({"price", "ring", "--bytes", "1MiB"}, "needs a number of ranks");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "much"}, "--bytes: 'much' is not a size");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1.5"}, "'1.5' is no whole number of bytes");
  expect_usage_error({"price", "ring", "-n", "9999999", "--bytes", "1"}, "at most 1,048,576 ranks");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--alpha", "5"}, "--alpha: '5' is not a time");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--bandwidth", "0GB/s"},
                     "--bandwidth: '0GB/s' is not a bandwidth above 0");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--gamma", "1us"},
                     "--gamma: '1us' is not a time a byte");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--format", "tabel"}, "Did you mean 'table'?");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--over", "time"}, "takes bytes or ranks");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--over", "ranks"}, "add --format svg");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--format", "svg", "--links"},
                     "no part of a picture");
  expect_usage_error({"price", "ring", "-n", "1", "--bytes", "1", "--format", "svg"}, "ask for -n 2 or more");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--topology", "no/file"}, "no file 'no/file'");
  const std::string ring = folder_ / "ring.txt";
  EXPECT_EQ(lockstep_with({"show", "ring", "-n", "3", "--format", "schedule", "-o", ring}).code, 0);
  expect_usage_error({"price", ring, "-n", "4", "--bytes", "1MiB"}, "is a schedule for 3 ranks, not 4; leave out -n.");
  expect_usage_error({"price", ring, "tree", "--bytes", "1MiB"}, "A schedule from a file is priced alone.");
  expect_usage_error({"price", ring, "--bytes", "1MiB", "--format", "svg"},
                     "has a price, no picture; use --format table");
  const std::string topology = write("net.toml", "[[host]]\nranks = 4\n", kPlainFile);
  expect_usage_error({"price", "ring", "-n", "5", "--bytes", "1", "--topology", topology}, "ask for at most 4");
  expect_usage_error({"price", "ring", "--bytes", "1", "--topology", topology, "--alpha", "5us"}, "leave out --alpha");
  const std::string uneven =
      write("uneven.toml", "[[host]]\nranks = 101\n[[host]]\nranks = 103\n[[host]]\nranks = 107\n", kPlainFile);
  EXPECT_THAT(lockstep_with({"price", "hierarchical:ring,ring", "--bytes", "1MiB", "--topology", uneven}).output,
              HasSubstr("the hosts' numbers of ranks share no chunks that fit them all; use as many ranks on each "
                        "host\n"));
  const std::string loop = folder_ / "loop";
  std::filesystem::create_symlink(loop, loop);
  expect_usage_error({"price", loop, "-n", "4", "--bytes", "1"}, "There is no algorithm and no file '" + loop + "'");
  expect_usage_error({"price", "ring", loop, "-n", "4", "--bytes", "1"}, "There is no algorithm '" + loop + "'");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--local-size", "5"}, "from 1 to 4; '5' is not one");
  expect_usage_error({"price", "ring", "--bytes", "1", "--topology", loop}, "no file '" + loop + "' with a topology");
  const std::string naive = folder_ / "naive";
  ASSERT_EQ(lockstep_with({"show", "naive", "-n", "16", "--format", "schedule", "-o", naive}).code, 0);
  expect_usage_error({"price", naive, "--bytes", "1MiB", "--segments", "20000"},
                     "in 20000 segments has 4,800,000 transfers, and at most 4,000,000 are simulated.");
  const std::string wrong = write("wrong.toml", "[[host]]\nrank = 4\n", kPlainFile);
  expect_usage_error({"price", "ring", "--bytes", "1", "--topology", wrong}, "line 2: there is no key 'rank' here");
}

TEST(CliPriceCalibrated, IsWhatTheStoredCalibrationPredicts) {
  const Schedule ring = find_algorithm("ring").build({.ranks = 2});
  const TcpModel tcp = tcp_model_for_tests(2);
  for (const double seconds_a_byte : {1e-10, 1e-9}) {
    const StoredCalibration stored(seconds_a_byte, tcp);
    const auto calibration = stored_calibration(this_machine());
    ASSERT_TRUE(calibration);
    const double expected = CalibratedTiming(*calibration, Medium::kSharedMemory, ring).seconds({1 << 20});
    EXPECT_NEAR(calibrated_ring_seconds("shm"), expected, 1e-9 * expected);
    EXPECT_NEAR(calibrated_ring_seconds("tcp"), tcp.predict(TcpJob(ring), 1 << 20), 1e-9 * expected);
  }
}

TEST(CliPriceCalibrated, ComparesAllAlgorithmsOnThisMachine) {
  const StoredCalibration stored(1e-10);
  const Result all = lockstep_with({"price", "all", "-n", "4", "--bytes", "1MiB", "--calibrated", "shm"});
  EXPECT_EQ(all.code, 0) << all.errors;
  EXPECT_THAT(all.output, AllOf(HasSubstr("on 4 ranks: this machine as calibrated ("), HasSubstr(", over shm; "),
                                HasSubstr("At 4 ranks, by bytes: "), Not(HasSubstr("simulated"))));
  EXPECT_THAT(
      lockstep_with({"price", "tree", "-n", "4", "--bytes", "1MiB", "--calibrated", "shm", "--format", "svg"}).output,
      HasSubstr("this machine as calibrated, over shm"));
  EXPECT_THAT(
      lockstep_with({"price", "ring", "-n", "16", "--bytes", "1MiB", "--calibrated", "shm", "--segments", "999"})
          .output,
      HasSubstr("no closed form follows a calibration"));
}

TEST_F(CliPrice, WithoutACalibrationItSaysWhatToRun) {
  const auto on = [](const std::string& ranks, std::vector<std::string> more) {
    more.insert(more.begin(), {"price", "ring", "-n", ranks, "--bytes", "1MiB", "--calibrated"});
    return more;
  };
  const Result result = lockstep_with(on("2", {"shm"}), {"XDG_CACHE_HOME=" + folder_.string()});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.errors,
            "lockstep: --calibrated prices by what was measured on this machine, and nothing is stored; measure it "
            "with: lockstep calibrate\n");
  const StoredCalibration stored(1e-10);
  expect_usage_error(on("2", {"tpc"}), "There is no calibration of 'tpc'. Did you mean 'tcp'?");
  expect_usage_error(on("2", {"tcp"}), "TCP was not measured on this machine");
  expect_usage_error(on("64", {"shm"}), "over shm prices 2 to 16 ranks; -n says 64.");
  expect_usage_error(on("2", {"shm", "--alpha", "5us"}), "--calibrated is this machine; leave out --topology, --alpha");
}

}  // namespace lockstep
