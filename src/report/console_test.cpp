#include "report/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace lockstep {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What a terminal would show: the lines, colours left out. Fails the test for an escape that it does not know.
class Screen {
 public:
  void take(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') {
        lines_.emplace_back();
      } else if (text[i] == '\r') {
        returned_ = true;
      } else if (text[i] == '\x1b') {
        const std::size_t end = text.find_first_not_of("[0123456789;", i + 1);
        ASSERT_NE(end, std::string::npos);
        if (text.substr(i, end + 1 - i) == "\x1b[2K") {
          ASSERT_TRUE(returned_);
          lines_.back().clear();
        } else {
          ASSERT_EQ(text[end], 'm') << "an escape that is no colour";
        }
        i = end;
      } else {
        returned_ = false;
        lines_.back() += text[i];
      }
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_{""};
  bool returned_ = false;
};

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

class ConsoleTest : public testing::Test {
 protected:
  ConsoleTest() { stream_ = ::open_memstream(&text_, &size_); }
  ~ConsoleTest() override {
    std::fclose(stream_);
    std::free(text_);
  }
  std::string text() const {
    std::fflush(stream_);
    return {text_, size_};
  }
  std::vector<std::string> screen() const {
    Screen screen;
    screen.take(text());
    return screen.lines();
  }
  static IterationRecord record(std::int64_t iteration) {
    IterationRecord record;
    record.iteration = iteration;
    record.loss = 2.5;
    record.items_per_second = 123456;
    record.compute_ms = 100;
    record.algorithm = "direct";
    return record;
  }
  static RunRecord run(std::int64_t iterations) {
    RunRecord run;
    run.iterations = iterations;
    return run;
  }

  std::FILE* stream_;

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

TEST_F(ConsoleTest, APipeGetsPlainLines) {
  {
    Console console(run(3), {.stream = stream_});
    console.say("hello");
    for (int i = 1; i <= 3; ++i) console.iteration(record(i));
  }
  EXPECT_EQ(text(), "hello\n" + format_iteration(record(1)) + "\n" + format_iteration(record(2)) + "\n" +
                        format_iteration(record(3)) + "\n");
  EXPECT_THAT(text(), AllOf(HasSubstr("iteration 3  loss 2.5000"), Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
}

TEST_F(ConsoleTest, PrintsEachNthTheFirstTheLastAndThoseWithAValidationLoss) {
  Console console(run(25), {.stream = stream_, .every = 10});
  for (int i = 3; i <= 25; ++i) {
    IterationRecord now = record(i);
    if (i == 13) now.validation_loss = 1.5;
    console.iteration(now);
  }
  EXPECT_THAT(screen(),
              ElementsAre(StartsWith("iteration 3 "), StartsWith("iteration 10 "), StartsWith("iteration 13 "),
                          StartsWith("iteration 20 "), StartsWith("iteration 25 "), ""));
}

TEST_F(ConsoleTest, BucketsFollowTheirIterationWhereAskedFor) {
  IterationRecord with = record(1);
  with.buckets = {{0, {"a.weight"}, 1024, "ring", 0.5, true}, {1, {"b.weight"}, 1024, "ring", 0.5, false}};
  { Console(run(1), {.stream = stream_}).iteration(with); }
  EXPECT_THAT(text(), Not(HasSubstr("bucket")));
  { Console(run(1), {.stream = stream_, .buckets = true}).iteration(with); }
  EXPECT_THAT(text(), EndsWith(format_bucket(with.buckets[0]) + "\n" + format_bucket(with.buckets[1]) + "\n"));
}

TEST_F(ConsoleTest, WhereBucketsAreAskedForCommunicationIsSaidToo) {
  IterationRecord with = record(1);
  with.exposed_ms = 0.8;
  with.hidden_ms = 2.5;
  { Console(run(1), {.stream = stream_}).iteration(with); }
  EXPECT_THAT(text(), Not(HasSubstr("communication")));
  { Console(run(1), {.stream = stream_, .buckets = true}).iteration(with); }
  EXPECT_THAT(text(), EndsWith("\n  communication 3.3 ms  exposed 0.8 ms  hidden 2.5 ms\n"));
}

TEST_F(ConsoleTest, ATerminalHasABarBelowTheLines) {
  Console console(run(200), {.stream = stream_, .terminal = true, .every = 10});
  console.say("hello");
  EXPECT_THAT(screen(), ElementsAre("hello", ""));
  console.iteration(record(49));
  console.iteration(record(50));
  console.say("saved");
  const auto bar = AllOf(StartsWith(" 25% ━━━━━━━━━"), HasSubstr("━─"), HasSubstr("  50/200  "), HasSubstr("it/s"),
                         HasSubstr("ETA "));
  EXPECT_THAT(screen(), ElementsAre("hello", HasSubstr("iteration 49"), HasSubstr("iteration 50"), "saved", bar));
}

TEST_F(ConsoleTest, TheLastPercentIsSaidWhenAllIsDone) {
  Console console(run(1000), {.stream = stream_, .terminal = true, .every = 1});
  console.iteration(record(999));
  EXPECT_THAT(screen().back(), StartsWith(" 99%"));
  console.iteration(record(1000));
  EXPECT_THAT(screen().back(), StartsWith("100%"));
}

TEST_F(ConsoleTest, TheTerminalIsLeftClean) {
  {
    Console console(run(20), {.stream = stream_, .terminal = true});
    for (int i = 1; i <= 20; ++i) console.iteration(record(i));
    EXPECT_THAT(screen().back(), AllOf(StartsWith("100% ━"), Not(HasSubstr("─"))));
  }
  EXPECT_EQ(screen().size(), 21u);
  EXPECT_EQ(screen().back(), "");
}

TEST_F(ConsoleTest, NothingIsWiderThanTheTerminal) {
  for (const int width : {20, 40, 60, 80, 120, 200}) {
    Console console(run(100000), {.stream = stream_, .terminal = true, .width = width, .buckets = true});
    IterationRecord long_one = record(99999);
    long_one.validation_loss = 1.5;
    console.iteration(record(99998));
    console.iteration(long_one);
    for (const std::string& line : screen()) EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
    EXPECT_LT(columns_of(screen().back()), static_cast<std::size_t>(width)) << "no column free behind the bar";
  }
}

TEST_F(ConsoleTest, ColourAndUnicodeCanBeTurnedOff) {
  Console console(run(4), {.stream = stream_, .terminal = true, .colour = false, .unicode = false});
  console.iteration(record(2));
  EXPECT_THAT(screen().back(), AllOf(StartsWith(" 50% ####"), HasSubstr("#....")));
  EXPECT_EQ(columns_of(text()), text().size());
  EXPECT_THAT(text(), Not(HasSubstr("\x1b[")));
}

TEST_F(ConsoleTest, AFileIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const Console::Options options = Console::detect(file);
  std::fclose(file);
  EXPECT_FALSE(options.terminal);
  EXPECT_EQ(options.width, 80);
}

}  // namespace lockstep
