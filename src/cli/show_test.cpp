// `lockstep show` on a terminal, in a pipe and to a file.
#include "base/terminal_for_tests.h"
#include "cli/program_for_tests.h"

#include <algorithm>
#include <sstream>

namespace lockstep {

namespace {

const std::vector<std::string> kStar{"show", "star", "-n", "8"};
constexpr const char* kStarInAShell = LOCKSTEP_PROGRAM " show star -n 8";

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

std::string shown_on_a_terminal(int columns) {
  const testing_support::Terminal terminal(columns);
  testing_support::Command command(
      {"sh", "-c", std::string(kStarInAShell) + " > \"$0\"; printf end > \"$0\"", terminal.path()});
  std::string text = terminal.read_to("end");
  EXPECT_EQ(command.wait(), 0) << command.errors();
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
  return text.substr(0, text.find_last_of('\n') + 1);
}

}  // namespace

class CliShown : public testing_support::TemporaryFolder {};

TEST_F(CliShown, IsAsWideAsTheTerminal) {
  const std::string narrow = shown_on_a_terminal(70);
  EXPECT_LE(longest_line(narrow), 70U);
  EXPECT_THAT(narrow, testing::HasSubstr("\n  chunk 0  a   b "));
  EXPECT_GT(longest_line(shown_on_a_terminal(240)), 120U);
}

TEST_F(CliShown, APipeAndAFileAreAsWideAsEver) {
  const std::string piped = lockstep_with(kStar).output;
  EXPECT_GT(longest_line(piped), 70U);
  EXPECT_EQ(shown_on_a_terminal(120), piped);
  const testing_support::Terminal terminal(70);
  const std::string file = folder_ / "shown";
  const auto result = testing_support::run_command(
      {"sh", "-c", std::string(kStarInAShell) + " -o \"$1\" > \"$0\"", terminal.path(), file});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(read(file), piped);
}

}  // namespace lockstep
