#include "worker/seeds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "worker/memory_budget.h"

namespace assay {
namespace {

TEST(SeedSourceTest, NoSeedComesTwiceAndAllFitInto63Bits) {
  SeedSource seeds("secret", "sub-1");
  std::set<uint64_t> seen;
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t seed = seeds.Next(i % 2 == 0 ? "trial" : "timed");
    EXPECT_EQ(seed >> 63u, 0u);
    EXPECT_TRUE(seen.insert(seed).second);
  }
}

TEST(SeedSourceTest, AReplayNeedsSecretAndId) {
  EXPECT_EQ(SeedSource("secret", "sub-1").Next("trial", 3),
            SeedSource("secret", "sub-1").Next("trial", 3));
  EXPECT_NE(SeedSource("secret", "sub-1").Next("trial", 3),
            SeedSource("secret", "sub-2").Next("trial", 3));
  EXPECT_NE(SeedSource("secret", "sub-1").Next("trial", 3),
            SeedSource("other", "sub-1").Next("trial", 3));
}

TEST(MemoryBudgetTest, ClaimsWaitUntilThereIsRoom) {
  MemoryBudget budget(100);
  std::atomic<bool> second{false};
  auto first = std::make_unique<MemoryBudget::Share>(&budget, 70);
  std::thread waiter([&] {
    const MemoryBudget::Share share(&budget, 50);
    second = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(second);
  first.reset();
  waiter.join();
  EXPECT_TRUE(second);
}

TEST(MemoryBudgetTest, AClaimLargerThanAllIsServedAlone) {
  MemoryBudget budget(100);
  const MemoryBudget::Share share(&budget, 1000);
  SUCCEED();
}

}  // namespace
}  // namespace assay
