#include "train/sharded/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

/// Whether two ranks that say these find that they are the same, by a maximum of each byte.
bool are_same(const Sequence& a, const Sequence& b) {
  Sequence::Said most = a.said();
  const Sequence::Said other = b.said();
  for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], other[i]);
  const bool a_sees = most == a.said();
  EXPECT_EQ(a_sees, most == other) << "either both see it or none";
  return a_sees;
}

Sequence sequence_of(std::initializer_list<const char*> gathers) {
  Sequence sequence;
  for (const char* one : gathers) sequence.note("gather", one);
  return sequence;
}

TEST(Sequence, TellsWhatWasStartedAndInWhichOrder) {
  EXPECT_TRUE(are_same(sequence_of({"a", "b"}), sequence_of({"a", "b"})));
  EXPECT_FALSE(are_same(sequence_of({"a", "b"}), sequence_of({"b", "a"})));
  EXPECT_FALSE(are_same(sequence_of({"a"}), sequence_of({"a", "a"})));
  EXPECT_FALSE(are_same(sequence_of({}), sequence_of({"a"})));
  Sequence reduced;
  reduced.note("reduce", "a");
  EXPECT_FALSE(are_same(sequence_of({"a"}), reduced));
}

TEST(Sequence, HoldsAnother) {
  Sequence one = sequence_of({"a"});
  Sequence other = one;
  one.note(sequence_of({"b"}));
  EXPECT_FALSE(are_same(one, other));
  other.note(sequence_of({"b"}));
  EXPECT_TRUE(are_same(one, other));
}

}  // namespace
}  // namespace lockstep
