#include "base/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::svg {

TEST(Svg, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped(std::string_view("x\0\x1b\xff", 4)), "x???") << "no XML may hold these";
}

TEST(Svg, NumbersAreShort) {
  EXPECT_EQ(number(12), "12");
  EXPECT_EQ(number(12.25), "12.3");
  EXPECT_EQ(number(-0.01), "0") << "not -0";
  EXPECT_EQ(number(1e6), "1000000");
}

TEST(Svg, ADocumentNamesItselfAndNeedsNothingElse) {
  const std::string text =
      to_text({.width = 10, .height = 20.5, .title = "a<b", .description = "what", .body = "<g/>\n"});
  EXPECT_THAT(text, testing::StartsWith(
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(text, testing::HasSubstr("viewBox=\"0 0 10 20.5\""));
  EXPECT_THAT(text, testing::HasSubstr("<title id=\"title\">a&lt;b</title>"));
  EXPECT_THAT(text, testing::EndsWith("<g/>\n</svg>\n"));
}

}  // namespace lockstep::svg
