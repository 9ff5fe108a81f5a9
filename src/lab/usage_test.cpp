#include "lab/usage.h"

#include "lab/digits/options.h"
#include "lab/sst2/options.h"
#include "lab/text/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::lab {

namespace {

/// What `lockstep train <name>` says of these arguments, which are in the order in which people type them.
template <class Options>
std::string said(void (*add_flags)(CLI::App&, Options&), const std::vector<std::string>& arguments) {
  Options options;
  CLI::App app;
  add_flags(app, options);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    require_numbers_that_fit(app);
  } catch (const CLI::ParseError& error) {
    return usage_sentence(app, error, "lockstep train it");
  }
  return "nothing";
}

}  // namespace

TEST(Usage, AValueThatIsNoNumberIsRepeated) {
  EXPECT_EQ(said(add_text_flags, {"--layers=2", "--iterations", "x"}),
            "--iterations takes a whole number; 'x' is not one.");
  EXPECT_EQ(said(add_text_flags, {"--iterations=5", "--iterations=2.5"}),
            "--iterations takes a whole number; '2.5' is not one.")
      << "the last one counts";
  EXPECT_EQ(said(add_text_flags, {"--learning-rate=fast"}), "--learning-rate takes a number; 'fast' is not one.");
  EXPECT_EQ(said(add_digits_flags, {"--seed=one"}), "--seed takes a whole number, 0 or more; 'one' is not one.");
  EXPECT_EQ(said(add_digits_flags, {"--stage=two"}), "--stage takes a whole number; 'two' is not one.");
  EXPECT_EQ(said(add_sst2_flags, {"--epochs=all"}), "--epochs takes a number; 'all' is not one.");
}

TEST(Usage, ANumberThatNothingHoldsIsRepeated) {
  const std::string whole = "a whole number from -9223372036854775808 to 9223372036854775807";
  for (const char* number : {"99999999999999999999", "-99999999999999999999", "9223372036854775808"}) {
    EXPECT_EQ(said(add_text_flags, {std::string("--iterations=") + number}),
              "--iterations takes " + whole + "; '" + number + "' is not one.");
  }
  for (const char* number : {"-1", "18446744073709551616"}) {
    EXPECT_EQ(said(add_digits_flags, {std::string("--seed=") + number}),
              std::string("--seed takes a whole number from 0 to 18446744073709551615; '") + number + "' is not one.");
  }
  EXPECT_EQ(said(add_digits_flags, {"--stage=99999999999"}),
            "--stage takes a whole number from -2147483648 to 2147483647; '99999999999' is not one.");
  EXPECT_EQ(said(add_text_flags, {"--iterations=99999999999999999999", "--iterations=5"}), "nothing")
      << "the last one counts";
  EXPECT_EQ(said(add_text_flags, {"--iterations=9223372036854775807", "--seed=18446744073709551615"}), "nothing");
}

TEST(Usage, AWholeNumberIsDecimal) {
  for (const char* number : {"010", "-010", "00", "0x10", "0b1"}) {
    const std::string sentence =
        " takes a whole number in decimal, without zeros before it; '" + std::string(number) + "' is not one.";
    EXPECT_EQ(said(add_text_flags, {std::string("--batch=") + number}), "--batch" + sentence);
    EXPECT_EQ(said(add_digits_flags, {std::string("--seed=") + number}), "--seed" + sentence);
  }
  EXPECT_EQ(said(add_text_flags, {"--batch=10", "--warmup=0", "--data=010", "--learning-rate=0.010"}), "nothing");
}

TEST(Usage, AnOptionThatThereIsNotIsNamedWithTheNearest) {
  EXPECT_EQ(said(add_text_flags, {"--iteration=5"}),
            "`lockstep train it` has no option --iteration. Did you mean '--iterations'?");
  EXPECT_EQ(said(add_digits_flags, {"--nrom", "sync"}),
            "`lockstep train it` has no option --nrom. Did you mean '--norm'?");
}

TEST(Usage, AllElseIsSaidByTheParserInASentence) {
  EXPECT_EQ(said(add_text_flags, {"--iterations"}).back(), '.');
  EXPECT_EQ(said(add_text_flags, {"stray"}), "The following argument was not expected: stray.");
  EXPECT_EQ(said(add_text_flags, {"--bucket-bytes=0"}), "--bucket-bytes: a size of at least one byte, as 4MiB.");
}

}  // namespace lockstep::lab
