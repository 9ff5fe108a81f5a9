// `lockstep price` as a person uses it.
#include "algorithms/catalog.h"
#include "cli/program_for_tests.h"
#include "group/stored_calibration_for_tests.h"
#include "planner/calibrated_timing.h"
#include "planner/tcp_model_for_tests.h"

#include <nlohmann/json.hpp>

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

}  // namespace

class CliPrice : public testing_support::TemporaryFolder {};

TEST_F(CliPrice, SaysWhatAlgorithmsCost) {
  const Result all = lockstep_with({"price", "all", "-n", "24576", "--bytes", "8MiB"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.output,
              AllOf(HasSubstr("closed form"), HasSubstr("simulated"), HasSubstr("by ranks"),
                    HasSubstr("\nhierarchical:ring,ring "), HasSubstr("\nhierarchical:direct,halving_doubling "),
                    HasSubstr(" 0 to 1: 16.0 MiB "), HasSubstr("out 100/100%, in 100/100%")));
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
}

TEST_F(CliPrice, AnswersBadUsageInOneSentence) {
  expect_usage_error({"price"}, "An algorithm, all, or a file with a schedule is needed");
  expect_usage_error({"price", "rign", "-n", "4", "--bytes", "1MiB"}, "Did you mean 'ring'?");
  expect_usage_error({"price", "ring", "-n", "4"}, "--bytes says how much is moved");
  EXPECT_EQ(lockstep_with({"price", "star", "--collective", "barrier", "-n", "4"}).code, 0) << "moves none";
  expect_usage_error({"price", "ring", "--bytes", "1MiB"}, "needs a number of ranks");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "much"}, "'much' is not a size");
  expect_usage_error({"price", "ring", "-n", "9999999", "--bytes", "1"}, "at most 1,048,576 ranks");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--alpha", "5"}, "'5' is not a time");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--bandwidth", "0GB/s"}, "above 0");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--format", "tabel"}, "Did you mean 'table'?");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--over", "time"}, "takes bytes or ranks");
  expect_usage_error({"price", "ring", "-n", "4", "--bytes", "1", "--topology", "no/file"}, "no file 'no/file'");
  const std::string topology = write("net.toml", "[[host]]\nranks = 4\n", kPlainFile);
  expect_usage_error({"price", "ring", "-n", "5", "--bytes", "1", "--topology", topology}, "ask for at most 4");
  expect_usage_error({"price", "ring", "--bytes", "1", "--topology", topology, "--alpha", "5us"}, "leave out --alpha");
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
