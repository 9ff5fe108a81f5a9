#include "launch/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lockstep {

using testing::ElementsAre;

namespace {

/// What comes out if the text arrives in pieces of `piece` bytes: lines as they are, updates with a ~ before them.
std::vector<std::string> split(const std::string& text, std::size_t piece) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  const auto sink = [&](LineSplitter::Kind kind, std::string_view line) {
    lines.push_back((kind == LineSplitter::Kind::kUpdate ? "~" : "") + std::string(line));
  };
  for (std::size_t at = 0; at < text.size(); at += piece) splitter.feed(std::string_view(text).substr(at, piece), sink);
  splitter.finish(sink);
  return lines;
}

}  // namespace

class LineSplitterInPieces : public testing::TestWithParam<std::size_t> {};

TEST_P(LineSplitterInPieces, LinesAreTheSameHoweverTheyArrive) {
  EXPECT_THAT(split("one\ntwo\n\nfour", GetParam()), ElementsAre("one", "two", "", "four"));
  EXPECT_THAT(split("dos\r\nends\r\n", GetParam()), ElementsAre("dos", "ends"));
}

TEST_P(LineSplitterInPieces, WhatTheNextTextReplacesIsAnUpdate) {
  EXPECT_THAT(split("10%\r20%\r30%\ndone\n", GetParam()), ElementsAre("~10%", "~20%", "30%", "done"));
  EXPECT_THAT(split("\r10%\r20%\r\n", GetParam()), ElementsAre("~10%", "20%"));
  EXPECT_THAT(split("10%\r", GetParam()), ElementsAre("10%"));
}

TEST_P(LineSplitterInPieces, ALineLongerThanTheLongestComesInPieces) {
  const std::string longest(LineSplitter::kLongest, 'x');
  EXPECT_THAT(split(longest + longest + "y\nz\n", GetParam()), ElementsAre(longest, longest, "y", "z"));
}

INSTANTIATE_TEST_SUITE_P(Pieces, LineSplitterInPieces, testing::Values(1, 2, 3, 7, 1 << 20));

}  // namespace lockstep
