#include "worker/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace assay {
namespace {

using Share = MemoryBudget::Share;

void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

TEST(MemoryBudget, ALargeClaimIsMetBeforeSmallOnesThatCameLater) {
  MemoryBudget budget(100);
  std::optional<Share> first(std::in_place, &budget, 10);
  std::atomic<int> met{0};
  std::atomic<int> all_was{0};
  std::jthread large([&] {
    const Share all(&budget, 1000);
    all_was = ++met;
    Pause();
    EXPECT_EQ(met, 1) << "alone";
  });
  Pause();
  std::vector<std::jthread> small;
  small.reserve(8);
  for (int i = 0; i < 8; ++i)
    small.emplace_back([&] {
      const Share share(&budget, 10);
      ++met;
    });
  Pause();
  EXPECT_EQ(met, 0) << "there is room for the small ones, but it is not their turn";
  first.reset();
  large.join();
  small.clear();
  EXPECT_EQ(all_was, 1);
  EXPECT_EQ(met, 9);
}

TEST(MemoryBudget, WhoWaitsForTheHoldersWaitsForNobodyElse) {
  MemoryBudget budget(100);
  std::optional<Share> before(std::in_place, &budget, 10);
  std::atomic<bool> stop{false};
  std::atomic<bool> through{false};
  std::jthread waits([&] {
    budget.AwaitHolders([&] { return stop.load(); });
    through = true;
  });
  Pause();
  const Share after(&budget, 10);
  EXPECT_FALSE(through);
  before.reset();
  waits.join();
  EXPECT_TRUE(through) << "although another one holds a share by now";
  std::jthread stopped([&] { budget.AwaitHolders([&] { return stop.load(); }); });
  stop = true;
}

}  // namespace
}  // namespace assay
