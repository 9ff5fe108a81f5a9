#include "runtime/call_deadline.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr CallDeadline::Time kBegin{seconds(1000)};

TEST(CallDeadline, PassesAfterItsTimeoutCountedFromTheFirstWait) {
  CallDeadline deadline;
  deadline.start(milliseconds(300));
  EXPECT_EQ(deadline.next_look(kBegin), kBegin + milliseconds(300));
  EXPECT_FALSE(deadline.has_passed(kBegin + milliseconds(299)));
  EXPECT_EQ(deadline.next_look(kBegin + milliseconds(299)), kBegin + milliseconds(300));
  EXPECT_TRUE(deadline.has_passed(kBegin + milliseconds(300)));
}

TEST(CallDeadline, LooksEveryEighthOfALongTimeout) {
  CallDeadline deadline;
  deadline.start(seconds(80));
  CallDeadline::Time now = kBegin;
  for (int look = 0; look < 8; ++look) {
    EXPECT_FALSE(deadline.has_passed(now)) << look;
    now = deadline.next_look(now);
  }
  EXPECT_EQ(now, kBegin + seconds(80));
  EXPECT_TRUE(deadline.has_passed(now));
}

TEST(CallDeadline, ASuspendedJobGoesOn) {
  CallDeadline deadline;
  deadline.start(seconds(80));
  deadline.next_look(kBegin);
  EXPECT_FALSE(deadline.has_passed(kBegin + std::chrono::hours(5)));
  EXPECT_EQ(deadline.next_look(kBegin + std::chrono::hours(5)), kBegin + std::chrono::hours(5) + seconds(10));
}

TEST(CallDeadline, CountsAnewForTheNextCall) {
  CallDeadline deadline;
  deadline.start(milliseconds(300));
  deadline.next_look(kBegin);
  EXPECT_TRUE(deadline.has_passed(kBegin + milliseconds(300)));
  deadline.start(milliseconds(300));
  EXPECT_FALSE(deadline.has_passed(kBegin + seconds(10)));
}

}  // namespace
}  // namespace lockstep
