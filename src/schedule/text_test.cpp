#include "schedule/text.h"

#include "base/error_for_tests.h"
#include "schedule/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <random>

namespace lockstep {

namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPair =
    "lockstep-schedule 1\n"
    "name pair\n"
    "collective all_reduce\n"
    "ranks 2\n"
    "chunks 1\n"
    "root 0\n"
    "step\n"
    "reduce 0 from 1 to 0\n"
    "step\n"
    "copy 0 from 0 to 1\n"
    "end\n";

Schedule pair() {
  ScheduleBuilder s({.name = "pair", .ranks = 2, .chunks = 1});
  s.reduce(0, {.from = 1, .to = 0});
  s.end_step();
  s.copy(0, {.from = 0, .to = 1});
  return s.take();
}

/// What is said about `text`; "read" if it is accepted.
std::string refusal(std::string_view text) {
  try {
    parse_schedule(text, "mine.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    return error.what();
  }
  return "read";
}

/// kPair with one line replaced.
std::string with(std::string_view line, std::string_view other) {
  std::string text = kPair;
  return text.replace(text.find(line), line.size(), other);
}

}  // namespace

TEST(Text, IsWrittenForPeopleAndReadBack) {
  EXPECT_EQ(to_text(pair()), kPair);
  EXPECT_EQ(parse_schedule(kPair, "mine.txt"), pair());
}

TEST(Text, EmptyLinesCommentsAndWindowsEndsMeanNothing) {
  EXPECT_EQ(parse_schedule(with("step\n", "\n# the sum\nstep\r\n"), "mine.txt"), pair());
  EXPECT_EQ(parse_schedule(with("reduce 0 from", "  reduce  0  from"), "mine.txt"), pair());
  EXPECT_EQ(parse_schedule(with("lockstep-schedule 1", "  lockstep-schedule  1 "), "mine.txt"), pair());
  EXPECT_EQ(parse_schedule(with("reduce 0 from", "  # the\tsum\nreduce 0 from"), "mine.txt"), pair());
}

TEST(Text, ANameThatCannotBeReadBackIsNotWritten) {
  Schedule schedule = pair();
  for (const char* name : {"", "two words", "line\nfeed"}) {
    schedule.name = name;
    EXPECT_THAT([&] { to_text(schedule); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "this one cannot be written as text"))
        << name;
  }
}

TEST(Text, SaysWhichLineIsWrongAndHow) {
  EXPECT_EQ(refusal(with("from 1 to 0", "from 7 to 0")), "mine.txt, line 8: there is no rank 7 among 2.");
  EXPECT_EQ(refusal(with("copy 0", "copy 3")), "mine.txt, line 10: there is no chunk 3 among 1.");
  EXPECT_EQ(refusal(with("copy", "coppy")), "mine.txt, line 10: 'coppy' is not known here. Did you mean 'copy'?");
  EXPECT_EQ(refusal(with("all_reduce", "allreduce")),
            "mine.txt, line 3: There is no collective 'allreduce'. Did you mean 'all_reduce'?");
  EXPECT_EQ(refusal(with("ranks 2", "ranks 2 3")), "mine.txt, line 4: expected 'ranks ...', not 'ranks 2 3'.");
  EXPECT_THAT(refusal(with("ranks 2", "ranks many")), HasSubstr("line 4: 'many' is not a number"));
  EXPECT_THAT(refusal(with("ranks 2", "ranks 2x")), HasSubstr("line 4: '2x' is not a number"));
  for (const char* zero : {"-0", "-00"}) {
    EXPECT_THAT(refusal(with("copy 0", std::string("copy ") + zero)),
                HasSubstr(std::string("line 10: '") + zero + "' is not a number"));
  }
  EXPECT_THAT(refusal(with("ranks 2", "ranks 99999999999999999999")), HasSubstr("line 4: '99999999999999999999'"));
  EXPECT_EQ(refusal(with("name pair", "name p{air")),
            "mine.txt, line 2: a name is 1 to 80 letters, digits and '_-.:,'.");
  EXPECT_THAT(refusal(with("name pair", "name " + std::string(81, 'x'))),
              HasSubstr("line 2: a name is 1 to 80 letters"));
  EXPECT_EQ(refusal(with("ranks 2", "ranks 2000000000")),
            "mine.txt, line 4: a schedule has 1 to 1024 ranks, not 2000000000.");
  EXPECT_THAT(refusal(with("chunks 1", "chunks 0")), HasSubstr("line 5: a schedule of 2 ranks has 1 to 65536 chunks"));
  EXPECT_EQ(refusal(with("reduce 0 from", "\treduce 0 from")),
            "mine.txt, line 8: there is a tab; words are parted by spaces.");
  EXPECT_EQ(refusal(with("from 1", "from\t1")), "mine.txt, line 8: there is a tab; words are parted by spaces.");
  EXPECT_THAT(refusal(with("root 0", "root 5")), HasSubstr("no rank 5 among 2 to be the root"));
  EXPECT_THAT(refusal(with("from 1 to 0", "1 to 0")), HasSubstr("expected 'reduce CHUNK from RANK to RANK'"));
  for (const char* unlike : {"from 1 to 0 0", "out 1 to 0", "from 1 into 0"}) {
    EXPECT_THAT(refusal(with("from 1 to 0", unlike)), HasSubstr("line 8: expected 'reduce CHUNK from RANK to RANK'"));
  }
  EXPECT_THAT(refusal(with("from 1 to 0", "from 0 to 0")), HasSubstr("line 8: rank 0 sends to itself"));
  EXPECT_THAT(refusal(with("step\n", "")), HasSubstr("line 7: a transfer stands before the first line 'step'"));
  EXPECT_EQ(refusal(with("step\ncopy", "step 1\ncopy")), "mine.txt, line 9: expected 'step' alone, not 'step 1'.");
  EXPECT_EQ(refusal(with("end", "end of it")), "mine.txt, line 11: expected 'end' alone, not 'end of it'.");
  EXPECT_THAT(refusal(with("name pair\n", "")), HasSubstr("line 2: expected 'name ...', not 'collective all_reduce'"));
  EXPECT_THAT(refusal(std::string(kPair) + "step\n"), HasSubstr("line 12: nothing may follow 'end'"));
  for (const char* unlike : {"schedule 2", "schedule 1 1", "schedule 12", "schedule1", "schedule"}) {
    EXPECT_THAT(refusal(with("schedule 1", unlike)), HasSubstr("begins with the line 'lockstep-schedule 1'"));
  }
}

TEST(Text, TheLongestNameAndLineAreRead) {
  EXPECT_EQ(refusal(with("name pair", "name " + std::string(64, 'x'))), "read");
  const auto of_line = [](std::size_t characters) {
    return refusal(with("step\n", std::string(characters, '#') + "\nstep\n"));
  };
  EXPECT_EQ(of_line(200), "read");
  EXPECT_EQ(of_line(201), "mine.txt, line 7: the line is longer than 200 characters.");
}

TEST(Text, HugeCountsAreRefusedBeforeAnythingIsAllocated) {
  EXPECT_THAT(refusal(with("ranks 2", "ranks 2147483647")), HasSubstr("1 to 1024 ranks"));
  EXPECT_THAT(refusal(with("chunks 1", "chunks 2147483647")),
              HasSubstr("a schedule of 2 ranks has 1 to 65536 chunks, not 2147483647"));
  std::string steps = "lockstep-schedule 1\nname long\ncollective barrier\nranks 2\nchunks 1\nroot 0\n";
  for (int i = 0; i < 70000; ++i) steps += "step\n";
  EXPECT_THAT(refusal(steps), HasSubstr("a schedule of 2 ranks has at most 65536 steps, not 65537"));
}

TEST(Text, ATextCutShortAnywhereIsRefused) {
  const std::string whole = kPair;
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    EXPECT_THAT(refusal(whole.substr(0, length)), StartsWith("mine.txt, line ")) << length;
  }
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)), "read") << "only the last line feed is missing";
}

TEST(Text, BinaryAndMegabyteLinesAreRefusedAndNotRepeated) {
  EXPECT_THAT(refusal(std::string("\0\0\0\0", 4)), HasSubstr("line 1: this is not text"));
  EXPECT_THAT(refusal(with("name pair", std::string_view("name p\0ir", 9))), HasSubstr("line 2: this is not text"));
  EXPECT_THAT(refusal(with("name pair", "name \x1b[31mred")), HasSubstr("line 2: this is not text"));
  const std::string long_line = refusal(with("name pair", "name " + std::string(1 << 20, 'x')));
  EXPECT_EQ(long_line, "mine.txt, line 2: the line is longer than 200 characters.");
  EXPECT_LT(refusal(std::string(1 << 20, '\n')).size(), 200U);
}

TEST(Text, ATextOfManyMegabytesIsRefusedWhereItsPartEnds) {
  const std::string comments =
      std::string(kPair).substr(0, std::string(kPair).find("end")) + std::string(kMostTextBytes, '\n');
  EXPECT_EQ(refusal(comments), "mine.txt, line 67108749: the text is longer than 64 MiB, the most that is read.");
}

/// Wherever the part that is read would end within a line.
TEST(Text, ATextThatIsTooLongHasNoOtherFault) {
  const std::string line = "reduce 0 from 1 to 0\n";
  for (const std::size_t name : {1, 8, 15}) {
    std::string text = with("name pair", "name " + std::string(name, 'x'));
    text.resize(text.find("end"));
    while (text.size() <= kMostTextBytes) text += line;
    EXPECT_THAT(refusal(text), HasSubstr(": the text is longer than 64 MiB, the most that is read.")) << name;
  }
}

TEST(Text, ALineThatGoesOnWhereTheReadingEndsIsTooLong) {
  EXPECT_EQ(refusal("lockstep-schedule 1\nname " + std::string(kMostTextBytes, 'x')),
            "mine.txt, line 2: the line is longer than 200 characters.");
}

TEST(Text, WhatIsTooLongToBeReadIsNotWritten) {
  Schedule schedule{.name = "long", .ranks = 2, .chunks = 1};
  const Transfer transfer{.kind = TransferKind::kReduce, .chunk = 0, .from = 1, .to = 0};
  schedule.steps.emplace_back(kMostTextBytes / 20, transfer);
  EXPECT_THAT([&] { to_text(schedule); },
              testing_support::refuses(ErrorCode::kInvalidArgument, "The text of 'long' would have 67"));
}

TEST(Text, RandomChangesAreReadOrRefusedAndNothingElse) {
  std::mt19937 random(11);
  const std::string whole = kPair;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = whole;
    for (unsigned change = 0; change <= random() % 4; ++change) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random());
      } else {
        text.insert(at, text.substr(random() % text.size(), random() % 12));
      }
    }
    EXPECT_THAT(refusal(text), testing::AnyOf("read", StartsWith("mine.txt, line ")));
  }
}

TEST(Text, CollectivesAreKnownByName) {
  EXPECT_EQ(parse_collective("reduce_scatter"), Collective::kReduceScatter);
  EXPECT_EQ(parse_collective("reduce"), Collective::kReduce);
  EXPECT_THROW(parse_collective("reduce_all"), Error);
}

}  // namespace lockstep
