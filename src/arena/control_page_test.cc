#include "arena/control_page.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace assay {
namespace {

TEST(ControlPageTest, RoundTripBetweenProcesses) {
  SharedControl control = *SharedControl::Create();
  const pid_t child = ::fork();
  if (child == 0) {
    for (uint32_t round = 1; round <= 100; ++round) {
      if (!WaitWord(control.page()->go, round, DeadlineIn(Seconds(5)))) ::_exit(1);
      PostWord(control.page()->done, round);
    }
    ::_exit(0);
  }
  for (uint32_t round = 1; round <= 100; ++round) {
    PostWord(control.page()->go, round);
    ASSERT_TRUE(WaitWord(control.page()->done, round, DeadlineIn(Seconds(5))));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ControlPageTest, WaitingEndsAtTheDeadline) {
  SharedControl control = *SharedControl::Create();
  const TimePoint start = Clock::now();
  EXPECT_FALSE(WaitWord(control.page()->done, 1, DeadlineIn(Seconds(0.05))));
  EXPECT_GE(MillisecondsSince(start), 50);
}

TEST(ControlPageTest, ThePageCannotBeShrunk) {
  SharedControl control = *SharedControl::Create();
  EXPECT_NE(::ftruncate(control.fd(), 0), 0);
  control.page()->calls = 7;
  EXPECT_EQ(control.page()->calls, 7u);
}

TEST(ControlPageTest, AChangeToAnyOtherValueEndsWaitWhile) {
  SharedControl control = *SharedControl::Create();
  std::thread other([&] {
    ::usleep(20'000);
    PostWord(control.page()->go, ControlPage::kStop);
  });
  const TimePoint start = Clock::now();
  EXPECT_EQ(WaitWhile(control.page()->go, 0, DeadlineIn(Seconds(5))), ControlPage::kStop);
  EXPECT_LT(MillisecondsSince(start), 2000);
  other.join();
}

}  // namespace
}  // namespace assay
