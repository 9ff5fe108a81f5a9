// `lockstep` as a person uses it: show, prove, bench, and what is answered to bad input.
#include "base/sanitizers_for_tests.h"
#include "cli/program_for_tests.h"
#include "schedule/xml_for_tests.h"

#include <thread>

namespace lockstep {

namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing_support::Result;

}  // namespace

class Cli : public testing_support::TemporaryFolder {};

TEST(CliUsage, AloneItHelpsAndFails) {
  const Result alone = lockstep_with({});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.errors, AllOf(HasSubstr("Usage: lockstep"), HasSubstr("prove"), HasSubstr("show")));
  const Result help = lockstep_with({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.output, alone.errors);
}

TEST(CliUsage, SaysItsVersion) {
  const Result result = lockstep_with({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, testing::MatchesRegex("lockstep [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CliUsage, BadInputIsAnsweredInOneSentence) {
  expect_usage_error({"shwo"}, "There is no command 'shwo'. Did you mean 'show'?");
  expect_usage_error({"--bogus"}, "has no option --bogus");
  expect_usage_error({"show", "ring", "-n", ""}, "it was given an empty value; give it another, or leave it out");
  expect_usage_error({"show", "ring", "-n", "4", "-o", "/no/such/file"}, "--output /no/such/file cannot be written");
  expect_usage_error({"lab"}, "`lab` takes one of: buckets, ");
  expect_usage_error({"lab", "bukets"}, "There is no command 'bukets'. Did you mean 'buckets'?");
  expect_usage_error({"show", "rign", "-n", "3"}, "no algorithm and no file 'rign'. Did you mean 'ring'?");
  expect_usage_error({"show", "ring", "-n", "3", "--formt", "json"}, "no option --formt. Did you mean '--format'?");
  expect_usage_error({"show", "ring", "-n", "3", "--format", "svgg"}, "There is no format 'svgg'. Did you mean 'svg'?");
  expect_usage_error({"show", "tree", "-n", "65", "--format", "svg"}, "A picture of 65 ranks would be too large");
  for (const char* command : {"show", "prove"}) {
    expect_usage_error({command}, std::string("as in: lockstep ") + command + " ring -n 4");
    expect_usage_error({command, "ring"}, "needs a number of ranks");
    expect_usage_error({command, "ring", "-n"}, "N missing");
    expect_usage_error({command, "ring", "-n", "0"}, "'0' is not one");
    expect_usage_error({command, "ring", "-n", "-3"}, "'-3' is not one");
    expect_usage_error({command, "ring", "-n", "many"}, "'many' is not one");
    expect_usage_error({command, "ring", "-n", "1000000"}, "at most 1024 ranks");
    expect_usage_error({command, "ring", "-n", "3", "--collective", "allreduce"}, "Did you mean 'all_reduce'?");
    expect_usage_error({command, "ring", "-n", "3", "--root", "1"},
                       "--root is for broadcast, scatter, reduce and gather");
    expect_usage_error({command, "ring", "-n", "3", "--collective", "all_to_all"}, "'ring' does no all_to_all");
    expect_usage_error({command, "ring", "-n", "3", "--collective", "broadcast", "--root", "3"},
                       "a rank from 0 to 2; '3' is not one");
    expect_usage_error({command, "auto", "-n", "4"}, "`lockstep info -n N` says which on N ranks.");
    expect_usage_error({command, "vendor", "-n", "4"}, "of which no schedule is known; `lockstep bench` runs it.");
    expect_usage_error({command, "no/such/file"}, "no algorithm and no file 'no/such/file'");
    expect_usage_error({command, "/"}, "'/' is not a file with a schedule");
    expect_usage_error({command, "ring", "-n", "4", "--local-size", "5"}, "from 1 to 4; '5' is not one");
    expect_usage_error({command, "hierarchical:ring,tree", "-n", "4"}, "needs to know which ranks share a host");
    expect_usage_error({command, "hierarchical:ring", "-n", "4"}, "takes two algorithms");
    expect_usage_error({command, "ring", "-n", "4", "--segments", "0"}, "--segments takes a number from 1 to");
    expect_usage_error({command, "ring", "-n", "64", "--segments", "1500"}, "has 1 to 16384 chunks, not 96000");
    expect_usage_error({command, "naive", "-n", "1024", "--segments", "1024"}, "more than 16777216 transfers");
    expect_usage_error({command, "star", "-n", "2", "--segments", "65536"},
                       "--segments 65536: a schedule of 2 ranks has at most 65536 steps, not 65537.");
    expect_usage_error(
        {command, "pairwise", "--collective", "all_to_all", "-n", "110"},
        "The schedule 'pairwise' is too large: a schedule of 110 ranks has 1 to 9532 chunks, not 12100.");
    expect_usage_error(
        {command, "hierarchical:ring,ring", "-n", "600", "--local-size", "301"},
        "The hosts have so many different numbers of ranks that no chunks fit them all; use as many ranks "
        "on each host.");
  }
}

TEST(CliUsage, WhatNobodyTakesIsSaid) {
  const Result full =
      testing_support::run_command({"sh", "-c", "exec " LOCKSTEP_PROGRAM " show ring -n 4 > /dev/full"});
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.errors, "lockstep: The output could not be written: No space left on device.\n");
}

TEST(CliProve, ProvesCompositionsAndPipelines) {
  const Result levels = lockstep_with({"prove", "hierarchical:direct,ring", "-n", "8", "--local-size", "4"});
  EXPECT_EQ(levels.code, 0);
  EXPECT_THAT(levels.output,
              StartsWith("Proved: hierarchical:direct,ring for all_reduce on 8 ranks: 8 chunks, 4 steps"));
  const Result pipeline = lockstep_with({"prove", "tree", "-n", "4", "--segments", "3"});
  EXPECT_EQ(pipeline.code, 0);
  EXPECT_THAT(pipeline.output, StartsWith("Proved: tree for all_reduce on 4 ranks: 3 chunks, 6 steps, 18 transfers."));
}

TEST(CliProve, ReportsAProof) {
  const Result tree = lockstep_with({"prove", "tree", "-n", "4"});
  EXPECT_EQ(tree.code, 0);
  EXPECT_EQ(tree.output,
            "Proved: tree for all_reduce on 4 ranks: 1 chunk, 4 steps, 6 transfers.\n"
            "Order of summation, the same on every rank:\n"
            "  chunk 0: ((0+1)+(2+3))\n"
            "Canonical: each sum follows the binary tree over the ranks, as in every canonical schedule.\n"
            "Canonical mode admits on 4 ranks: naive, star, direct, tree, recursive_doubling, halving_doubling, swing; "
            "of them for bfloat16 and float16: naive, star, direct.\n"
            "It admits pipelines of these too, segmented:K:ALGORITHM, which sum in the same order.\n");
  EXPECT_THAT(lockstep_with({"prove", "ring", "-n", "4"}).output,
              AllOf(HasSubstr("\nNot canonical: "), HasSubstr("\nCanonical mode admits on 4 ranks: naive, star, ")));
  EXPECT_THAT(lockstep_with({"prove", "ring", "-n", "4", "--collective", "reduce_scatter"}).output,
              HasSubstr("\nCanonical mode admits on 4 ranks: direct, "));
  EXPECT_THAT(lockstep_with({"prove", "tree", "-n", "4", "--collective", "barrier"}).output,
              Not(HasSubstr("Canonical mode admits")));
  const Result broadcast = lockstep_with({"prove", "ring", "-n", "3", "--collective", "broadcast", "--root", "2"});
  EXPECT_EQ(broadcast.code, 0);
  EXPECT_EQ(broadcast.output, "Proved: ring for broadcast on 3 ranks: 3 chunks, 4 steps, 6 transfers.\n");
}

TEST_F(Cli, WhatShowWritesAsAScheduleProveReads) {
  const std::string file = folder_ / "ring.txt";
  EXPECT_EQ(lockstep_with({"show", "ring", "-n", "3", "--format", "schedule", "-o", file}).code, 0);
  EXPECT_EQ(lockstep_with({"prove", file}).output, lockstep_with({"prove", "ring", "-n", "3"}).output);
  expect_usage_error({"prove", file, "-n", "4"}, "is a schedule for 3 ranks, not 4");
  expect_usage_error({"prove", file, "--collective", "barrier"}, "is a schedule for all_reduce, not barrier");
  expect_usage_error({"prove", file, "--root", "1"}, "is a schedule with root 0, not 1");
}

TEST_F(Cli, ARefusedScheduleIsNamedByPlaceAndStillDrawn) {
  const std::string file = write("twice.txt",
                                 "lockstep-schedule 1\nname twice\ncollective all_reduce\nranks 2\nchunks 1\nroot 0\n"
                                 "step\nreduce 0 from 1 to 0\nstep\nreduce 0 from 1 to 0\nend\n",
                                 kPlainFile);
  const std::string reason =
      "lockstep: The schedule 'twice' is refused: step 1, chunk 0, rank 0: rank 0 would count the contribution of rank "
      "1 twice.\n";
  const Result proof = lockstep_with({"prove", file});
  EXPECT_EQ(proof.code, 1);
  EXPECT_EQ(proof.errors, reason);
  EXPECT_THAT(proof.output, IsEmpty());
  const Result drawing = lockstep_with({"show", file});
  EXPECT_EQ(drawing.code, 1);
  EXPECT_EQ(drawing.errors, reason);
  EXPECT_THAT(drawing.output, HasSubstr("step 1\n  reduce chunk 0: 1 -> 0\n"));
}

TEST_F(Cli, AFileThatIsNoScheduleIsRefusedWithItsLine) {
  const std::string file = write("cut.txt", "lockstep-schedule 1\nname cut\n", kPlainFile);
  const Result result = lockstep_with({"prove", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.errors, "lockstep: " + file + ", line 3: the text ends where 'collective ...' is expected.\n");
}

TEST_F(Cli, AHostileFileIsRefusedWithItsLine) {
  const std::string file = folder_ / "hostile";
  const auto expect_refused = [&](const std::string& words) {
    const Result result = lockstep_with({"prove", file});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.errors, "lockstep: " + file + ", line " + words + "\n");
  };
  write("hostile", "lockstep-schedule 1\nname huge\ncollective all_reduce\nranks 2000000000\nchunks 1\nroot 0\n",
        kPlainFile);
  expect_refused("4: a schedule has 1 to 1024 ranks, not 2000000000.");
  write("hostile",
        std::string("\x7f"
                    "ELF\0\0\0",
                    7),
        kPlainFile);
  expect_refused("1: this is not text (printable ASCII).");
  write("hostile", "lockstep-schedule 1\nname ", kPlainFile);
  std::filesystem::resize_file(file, std::uintmax_t{1} << 30);  // a line of a gigabyte, which takes no room on the disk
  expect_refused("2: the line is longer than 200 characters.");
}

TEST_F(Cli, NothingHalfWrittenIsLeft) {
  const Result result = lockstep_with({"show", "ring", "-n", "2", "-o", folder_ / "missing" / "file"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.errors, HasSubstr("cannot be written: No such file or directory; name another file."));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// The example that tutorials draw: ring reduction of a1..d4 on four ranks.
TEST(CliShow, DrawsTheWorkedExampleOfTheRing) {
  EXPECT_EQ(lockstep_with({"show", "ring", "-n", "4"}).output,
            R"(ring: all_reduce on 4 ranks, 4 chunks, 6 steps, 24 transfers
Ranks across, chunks down; . is empty.
a1 is rank 0's part of chunk 0, b1 rank 1's, a1+b1 their sum.

start
           rank 0       rank 1       rank 2       rank 3
  chunk 0  a1           b1           c1           d1
  chunk 1  a2           b2           c2           d2
  chunk 2  a3           b3           c3           d3
  chunk 3  a4           b4           c4           d4

step 0
  reduce chunk 0: 1 -> 2
  reduce chunk 1: 2 -> 3
  reduce chunk 2: 3 -> 0
  reduce chunk 3: 0 -> 1
           rank 0       rank 1       rank 2       rank 3
  chunk 0  a1           b1           b1+c1        d1
  chunk 1  a2           b2           c2           c2+d2
  chunk 2  a3+d3        b3           c3           d3
  chunk 3  a4           a4+b4        c4           d4

step 1
  reduce chunk 0: 2 -> 3
  reduce chunk 1: 3 -> 0
  reduce chunk 2: 0 -> 1
  reduce chunk 3: 1 -> 2
           rank 0       rank 1       rank 2       rank 3
  chunk 0  a1           b1           b1+c1        b1+c1+d1
  chunk 1  a2+c2+d2     b2           c2           c2+d2
  chunk 2  a3+d3        a3+b3+d3     c3           d3
  chunk 3  a4           a4+b4        a4+b4+c4     d4

step 2
  reduce chunk 0: 3 -> 0
  reduce chunk 1: 0 -> 1
  reduce chunk 2: 1 -> 2
  reduce chunk 3: 2 -> 3
           rank 0       rank 1       rank 2       rank 3
  chunk 0  a1+b1+c1+d1  b1           b1+c1        b1+c1+d1
  chunk 1  a2+c2+d2     a2+b2+c2+d2  c2           c2+d2
  chunk 2  a3+d3        a3+b3+d3     a3+b3+c3+d3  d3
  chunk 3  a4           a4+b4        a4+b4+c4     a4+b4+c4+d4

step 3
  copy chunk 0: 0 -> 1
  copy chunk 1: 1 -> 2
  copy chunk 2: 2 -> 3
  copy chunk 3: 3 -> 0
           rank 0       rank 1       rank 2       rank 3
  chunk 0  a1+b1+c1+d1  a1+b1+c1+d1  b1+c1        b1+c1+d1
  chunk 1  a2+c2+d2     a2+b2+c2+d2  a2+b2+c2+d2  c2+d2
  chunk 2  a3+d3        a3+b3+d3     a3+b3+c3+d3  a3+b3+c3+d3
  chunk 3  a4+b4+c4+d4  a4+b4        a4+b4+c4     a4+b4+c4+d4

step 4
  copy chunk 0: 1 -> 2
  copy chunk 1: 2 -> 3
  copy chunk 2: 3 -> 0
  copy chunk 3: 0 -> 1
           rank 0       rank 1       rank 2       rank 3
  chunk 0  a1+b1+c1+d1  a1+b1+c1+d1  a1+b1+c1+d1  b1+c1+d1
  chunk 1  a2+c2+d2     a2+b2+c2+d2  a2+b2+c2+d2  a2+b2+c2+d2
  chunk 2  a3+b3+c3+d3  a3+b3+d3     a3+b3+c3+d3  a3+b3+c3+d3
  chunk 3  a4+b4+c4+d4  a4+b4+c4+d4  a4+b4+c4     a4+b4+c4+d4

step 5
  copy chunk 0: 2 -> 3
  copy chunk 1: 3 -> 0
  copy chunk 2: 0 -> 1
  copy chunk 3: 1 -> 2
           rank 0       rank 1       rank 2       rank 3
  chunk 0  a1+b1+c1+d1  a1+b1+c1+d1  a1+b1+c1+d1  a1+b1+c1+d1
  chunk 1  a2+b2+c2+d2  a2+b2+c2+d2  a2+b2+c2+d2  a2+b2+c2+d2
  chunk 2  a3+b3+c3+d3  a3+b3+c3+d3  a3+b3+c3+d3  a3+b3+c3+d3
  chunk 3  a4+b4+c4+d4  a4+b4+c4+d4  a4+b4+c4+d4  a4+b4+c4+d4
)");
}

TEST_F(Cli, ShowDrawsTextJsonAndAPicture) {
  EXPECT_THAT(lockstep_with({"show", "direct", "-n", "2"}).output,
              AllOf(StartsWith("direct: all_reduce on 2 ranks"), HasSubstr("  chunk 1  a2      a2+b2\n")));
  EXPECT_THAT(lockstep_with({"show", "direct", "-n", "2", "--format", "json"}).output,
              AllOf(StartsWith("{"), HasSubstr(R"("collective":"all_reduce")")));
  const std::string file = folder_ / "ring.svg";
  const Result result = lockstep_with({"show", "ring", "-n", "4", "--format", "svg", "-o", file});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, IsEmpty());
  const std::string svg = read(file);
  EXPECT_TRUE(xml::is_well_formed(svg));
  EXPECT_EQ(xml::count(svg, "<path class=\"reduce "), 12);
  EXPECT_EQ(xml::count(svg, "<path class=\"copy "), 12);
  EXPECT_EQ(xml::count(svg, ">a1+b1+c1+d1</text>"), 1 + 2 + 3 + 4)
      << "at one rank more after each step from the third on";
}

TEST(CliBench, BadInputIsAnsweredInOneSentence) {
  expect_usage_error({"bench"}, "needs to know what to measure");
  expect_usage_error({"bench", "allreduce"}, "Did you mean 'all_reduce'?");
  expect_usage_error({"bench", "all_reduce", "-n", "none"}, "'none' is not one");
  expect_usage_error({"bench", "all_reduce", "--dtype", "float33"}, "no data type 'float33'. Did you mean 'float32'?");
  expect_usage_error({"bench", "all_reduce", "--op", "add"}, "There is no operator 'add'.");
  expect_usage_error({"bench", "all_reduce", "--algorithm", "rign"}, "Did you mean 'ring'?");
  expect_usage_error({"bench", "all_gather", "--algorithm", "naive"},
                     "'naive' does no all_gather, but all_reduce, barr");
  expect_usage_error({"bench", "all_reduce", "--buffers", "plane"}, "Did you mean 'plain'?");
  expect_usage_error({"bench", "all_reduce", "--transport", "tpc"}, "Did you mean 'tcp'?");
  expect_usage_error({"bench", "all_reduce", "--format", "jsn"}, "Did you mean 'json'?");
  expect_usage_error({"bench", "all_reduce", "--factor", "many"}, "'many' is not one");
  expect_usage_error({"bench", "all_reduce", "--factor", "1"}, "from 2 up");
  expect_usage_error({"bench", "all_reduce", "--min-bytes", "1KiB", "--max-bytes", "4"}, "less than --min-bytes");
  expect_usage_error({"bench", "all_reduce", "--factor", "2KiB"}, "'2KiB' is not one");
  expect_usage_error({"bench", "broadcast", "--op", "max"}, "--op is for what sums values, which broadcast does not");
  expect_usage_error({"bench", "all_reduce", "--min-time", "soon"}, "--min-time: 'soon' is not a time");
  expect_usage_error({"bench", "all_reduce", "--min-bytes", "few"}, "--min-bytes: 'few' is not a size");
  expect_usage_error({"bench", "all_reduce", "--cache-bytes", "L3"}, "--cache-bytes: 'L3' is not a size");
  expect_usage_error({"bench", "all_reduce", "--cache-bytes", "0"}, "--cache-bytes is 0; leave it out");
  expect_usage_error({"bench", "all_reduce", "--max-bytes", "all"}, "--max-bytes: 'all' is not a size");
  expect_usage_error({"bench", "all_reduce", "-o", "no/such/file"}, "--output no/such/file cannot be written: No such");
  expect_usage_error({"bench", "all_reduce", "--local-size", "0"}, "--local-size takes the number of ranks on a host");
  expect_usage_error({"bench", "all_reduce", "--local-size", "two"}, "'two' is not one");
}

TEST(CliBench, MeasuresRanksThatItStarts) {
  const Result result = lockstep_with({"bench", "all_reduce", "-n", "2", "--min-bytes", "1KiB", "--max-bytes", "64KiB",
                                       "--factor", "64", "--min-time", "5ms"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(StartsWith("# all_reduce on 2 ranks, registered memory, shm, warm;"),
                                   testing::ContainsRegex("\n +1024 +256 +float32 +sum .* 0\n"),
                                   testing::ContainsRegex("\n +65536 +16384 +float32 +sum .* 0\n")));
}

TEST(CliBench, BeginsWithAnElementOfAnyType) {
  for (const char* dtype : {"float64", "int64", "uint8"}) {
    const Result result = lockstep_with({"bench", "all_reduce", "-n", "1", "--dtype", dtype, "--max-bytes", "8",
                                         "--min-time", "1ms", "--cache-bytes", "1MiB"});
    EXPECT_EQ(result.code, 0) << result.errors;
    EXPECT_THAT(result.output, testing::ContainsRegex(std::string("\n +[48] +[0-9]+ +") + dtype));
  }
  expect_usage_error({"bench", "all_reduce", "--dtype", "float64", "--min-bytes", "4"}, "less than one element");
}

/// In canonical order 16-bit floats are summed by what sends no sums on, whatever float32 is summed by.
TEST(CliBench, NamesWhatRunsInCanonicalOrder) {
  const std::vector<std::string> canonical{"LOCKSTEP_REDUCTION=canonical"};
  const Result chosen =
      lockstep_with({"bench", "all_reduce", "-n", "4", "--transport", "tcp", "--dtype", "bfloat16", "--min-bytes",
                     "1KiB", "--max-bytes", "1KiB", "--min-time", "1ms", "--cache-bytes", "1MiB"},
                    canonical);
  EXPECT_EQ(chosen.code, 0) << chosen.errors;
  EXPECT_THAT(chosen.output, AllOf(HasSubstr(" bfloat16 "), testing::ContainsRegex(" (naive|star|direct) ")));
  const Result all = lockstep_with({"bench", "all_reduce", "-n", "4", "--algorithm", "all", "--max-bytes", "4",
                                    "--min-time", "1ms", "--cache-bytes", "1MiB"},
                                   canonical);
  EXPECT_EQ(all.code, 0) << all.errors;
  EXPECT_THAT(all.output, AllOf(HasSubstr(" direct "), HasSubstr(" recursive_doubling "), Not(HasSubstr(" ring ")),
                                HasSubstr("\n# not run: ring, bidirectional_ring, double_tree, circulant (they do not "
                                          "fit these ranks or this kind of reduction)\n")));
}

TEST(CliBench, SaysWhatMovedTheBytes) {
  const Result small_files = testing_support::run_command(
      {"sh", "-c", "ulimit -f 1000; exec " LOCKSTEP_PROGRAM " bench barrier -n 2 --min-time 1ms"});
  EXPECT_EQ(small_files.code, 0) << small_files.errors;
  EXPECT_THAT(small_files.output, HasSubstr("# barrier on 2 ranks, tcp; "));
}

TEST(CliBench, PretendsHosts) {
  const Result result =
      lockstep_with({"bench", "all_reduce", "-n", "3", "--local-size", "2", "--algorithm", "hierarchical:direct,ring",
                     "--max-bytes", "4", "--min-time", "5ms", "--cache-bytes", "1MiB"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(StartsWith("# all_reduce on 3 ranks on 2 hosts (2, 1), registered memory, shm"),
                                   testing::ContainsRegex("hierarchical:direct,ring .* 0\n")));
}

TEST(CliBench, AllTakesCompositionsWhereHostsAreSeveral) {
  const Result result = lockstep_with({"bench", "all_reduce", "-n", "4", "--local-size", "2", "--algorithm", "all",
                                       "--max-bytes", "4", "--min-time", "1ms", "--cache-bytes", "1MiB"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr(" direct "), HasSubstr(" hierarchical:ring,ring "),
                                   HasSubstr(" hierarchical:direct,halving_doubling ")));
}

TEST(CliBench, TakesPartInTheWorldThatIsThere) {
  const std::vector<std::string> bench{LOCKSTEP_PROGRAM, "bench",    "broadcast",     "--max-bytes", "4",
                                       "--min-time",     "5ms",      "--cache-bytes", "1MiB",        "--buffers",
                                       "plain",          "--format", "json"};
  std::vector<std::string> arguments{"run", "-n", "3"};
  arguments.insert(arguments.end(), bench.begin(), bench.end());
  const Result result = lockstep_with(arguments);
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("\"world_size\": 3"), HasSubstr("\"collective\": \"broadcast\""),
                                   HasSubstr("\"buffers\": \"plain\""), Not(HasSubstr("[rank 1]"))));
  arguments.insert(arguments.end(), {"-n", "2"});
  const Result other = lockstep_with(arguments);
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.errors, HasSubstr("-n says 2, but this process was started as one of 3 ranks"));
}

TEST_F(Cli, BenchWritesAFile) {
  const std::string file = folder_ / "result.json";
  const Result result =
      lockstep_with({"bench", "barrier", "-n", "1", "--min-time", "5ms", "--format", "json", "-o", file});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(read(file), HasSubstr("\"collective\": \"barrier\""));
}

TEST_F(Cli, CalibrationIsStoredAndUsed) {
  if (testing_support::kUnderAddressSanitizer)
    GTEST_SKIP() << "measures and fits for minutes in a build with AddressSanitizer";
  const std::string cache = "XDG_CACHE_HOME=" + folder_.string();
  const Result result = lockstep_with({"calibrate", "-n", "2", "--fast"}, {cache});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("GB/s of memory traffic"),
                                   HasSubstr("\nshm between two ranks, as a flat network: --alpha "),
                                   HasSubstr("\ntcp between two ranks, as a flat network: --alpha "),
                                   HasSubstr("auto on 2 ranks over shm: all_reduce: 0-"), HasSubstr("\ntcp, "),
                                   HasSubstr("auto on 2 ranks over tcp: all_reduce: 0-")));
  EXPECT_THAT(result.errors, AllOf(HasSubstr("shm: what predictions are made from, round 7 of at most 7\n"),
                                   HasSubstr("tcp: other collectives, round 1 of at most 1\n")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "lockstep" / "calibration.json"));
  // What was measured is used; predictions are if they were good of what it had not seen, which a short run on a busy
  // machine may not be, and never passed over in silence.
  const std::string info = lockstep_with({"info"}, {cache}).output;
  EXPECT_THAT(info, AnyOf(HasSubstr("(calibrated here"), HasSubstr("since the calibration here is")));
  const std::string measured =
      "as measured here on 2 ranks: all_reduce, reduce_scatter, all_gather, broadcast, reduce, gather, scatter, "
      "all_to_all)\n";
  EXPECT_THAT(result.output, HasSubstr("; " + measured + "auto on 2 ranks over tcp"));
  EXPECT_THAT(result.output, HasSubstr("\n(built in; " + measured));
  EXPECT_THAT(result.output, HasSubstr("; reduce plain: 0-"));
  EXPECT_EQ(lockstep_with({"calibrate", "-n", "1"}, {cache}).code, 2);
  const Result bound = testing_support::run_command(
      {"sh", "-c", "exec taskset -c 0 " LOCKSTEP_PROGRAM " calibrate -n 2 --fast"}, {.environment = {cache}});
  if (std::thread::hardware_concurrency() > 1) {
    EXPECT_EQ(bound.code, 2);
    EXPECT_THAT(bound.errors, HasSubstr("This process may use 1 of the machine's "));
  }
}

TEST_F(Cli, ACalibrationThatCannotBeIsNotBegun) {
  const std::string file = write("file", "", kPlainFile);
  const Result nowhere = lockstep_with({"calibrate", "-n", "2", "--fast"}, {"XDG_CACHE_HOME=" + file});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.errors, HasSubstr("cannot be made or written to"));
  const Result homeless = lockstep_with({"calibrate", "-n", "2", "--fast"}, {"XDG_CACHE_HOME=", "HOME="});
  EXPECT_EQ(homeless.code, 2);
  EXPECT_THAT(homeless.errors, HasSubstr("There is no place for the calibration; set XDG_CACHE_HOME (or HOME)"));
  expect_usage_error({"calibrate", "-n", "65"}, "Calibration takes 2 to 64 ranks; -n says 65.");
  const Result too_many = lockstep_with({"calibrate", "-n", "65"}, {"XDG_CACHE_HOME=" + (folder_ / "cache").string()});
  EXPECT_EQ(too_many.code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cache")) << "nothing is to be stored";
}

}  // namespace lockstep
