#include "transport/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

TEST(Verdict, IsTheErrorOfRankZero) {
  EXPECT_NO_THROW(Verdict::yes().require_accepted(3));
  const Verdict no = Verdict::no({ErrorCode::kTimeout, "Rank 0 waited for rank 2.", {.rank = 0, .peer = 2}});
  try {
    no.require_accepted(3);
    FAIL() << "it was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTimeout);
    EXPECT_EQ(error.context().rank, 3);
    EXPECT_EQ(error.context().peer, 2);
    EXPECT_THAT(error.what(), testing::HasSubstr("Rank 0 waited for rank 2."));
  }
}

TEST(Verdict, OfGarbageIsAnErrorAllTheSame) {
  Verdict garbage{.accepted = 7, .code = 1'000'000};
  garbage.reason.fill('x');
  EXPECT_THROW(garbage.require_accepted(1), Error);
  EXPECT_THROW(Verdict::no({ErrorCode::kIo, std::string(2000, 'y')}).require_accepted(1), Error);
}

}  // namespace lockstep
