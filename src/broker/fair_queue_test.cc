#include "broker/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace assay {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> PopAll(FairQueue* queue, double cost = 1) {
  std::vector<int64_t> order;
  while (const auto entry = queue->Pop()) {
    order.push_back(entry->sequence);
    queue->Charge(entry->owner, cost);
  }
  return order;
}

TEST(FairQueue, EmptyGivesNothing) {
  FairQueue queue;
  EXPECT_FALSE(queue.Pop().has_value());
  EXPECT_FALSE(queue.Remove({"a", 0, 1}));
  queue.Charge("nobody", 5);
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.size("a"), 0U);
}

TEST(FairQueue, WithinAnOwnerPriorityThenAge) {
  FairQueue queue;
  queue.Push({"a", 0, 1});
  queue.Push({"a", 5, 2});
  queue.Push({"a", -3, 3});
  queue.Push({"a", 5, 4});
  queue.Push({"a", 0, 5});
  EXPECT_THAT(PopAll(&queue), ElementsAre(2, 4, 1, 5, 3));
}

TEST(FairQueue, PriorityDoesNotReachAcrossOwners) {
  FairQueue queue;
  for (int i = 1; i <= 3; ++i) queue.Push({"greedy", 1000, i});
  for (int i = 4; i <= 6; ++i) queue.Push({"modest", 0, i});
  EXPECT_THAT(PopAll(&queue), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(FairQueue, AThousandJobsOfOneDoNotDelayTheFirstOfAnother) {
  FairQueue queue;
  for (int i = 1; i <= 1000; ++i) queue.Push({"many", 0, i});
  for (int i = 0; i < 100; ++i) queue.Charge(queue.Pop()->owner, 1);
  queue.Push({"one", 0, 1001});
  std::vector<int64_t> next;
  for (int i = 0; i < 2; ++i) {
    next.push_back(queue.Pop()->sequence);
    queue.Charge(next.back() == 1001 ? "one" : "many", 1);
  }
  EXPECT_THAT(next, ::testing::Contains(1001));
}

TEST(FairQueue, SharesTimeAndNotTurns) {
  FairQueue queue;
  const std::map<std::string, double> cost = {{"slow", 10}, {"fast", 0.5}, {"middle", 2}};
  int64_t sequence = 0;
  for (const auto& [owner, seconds] : cost)
    for (int i = 0; i < 2000; ++i) queue.Push({owner, 0, ++sequence});
  std::map<std::string, double> served;
  for (double total = 0; total < 900;) {
    const auto entry = queue.Pop();
    queue.Charge(entry->owner, cost.at(entry->owner));
    served[entry->owner] += cost.at(entry->owner);
    total += cost.at(entry->owner);
  }
  for (const auto& [owner, seconds] : served) EXPECT_NEAR(seconds, 300, 10) << owner;
}

TEST(FairQueue, IdleTimeCannotBeSavedUp) {
  FairQueue queue;
  queue.Push({"late", 0, 1});
  queue.Charge(queue.Pop()->owner, 1);
  for (int i = 2; i <= 200; ++i) queue.Push({"busy", 0, i});
  for (int i = 0; i < 100; ++i) queue.Charge(queue.Pop()->owner, 1);
  for (int i = 201; i <= 300; ++i) queue.Push({"late", 0, i});
  int late = 0;
  for (int i = 0; i < 20; ++i) {
    const auto entry = queue.Pop();
    late += entry->owner == "late" ? 1 : 0;
    queue.Charge(entry->owner, 1);
  }
  EXPECT_GE(late, 9);
  EXPECT_LE(late, 11);
}

TEST(FairQueue, WhatWasTakenBackIsGone) {
  FairQueue queue;
  queue.Push({"a", 1, 1});
  queue.Push({"a", 1, 2});
  EXPECT_FALSE(queue.Remove({"a", 0, 1}));  // another priority is another place
  EXPECT_TRUE(queue.Remove({"a", 1, 1}));
  EXPECT_FALSE(queue.Remove({"a", 1, 1}));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_THAT(PopAll(&queue), ElementsAre(2));
}

TEST(FairQueue, RandomOperationsLoseAndInventNothing) {
  std::mt19937 random(7);
  FairQueue queue;
  std::set<FairQueue::Entry> inside;
  int64_t sequence = 0;
  for (int step = 0; step < 20'000; ++step) {
    const unsigned kind = random() % 5;
    if (kind <= 1) {
      const FairQueue::Entry entry{std::string(1, static_cast<char>('a' + random() % 6)),
                                   static_cast<int>(random() % 3), ++sequence, random() % 100};
      queue.Push(entry);
      queue.Push(entry);  // twice is once
      inside.insert(entry);
    } else if (kind == 2 && !inside.empty()) {
      auto entry = inside.begin();
      std::advance(entry, random() % inside.size());
      EXPECT_TRUE(queue.Remove(*entry));
      inside.erase(entry);
    } else if (const auto entry = queue.Pop()) {
      ASSERT_EQ(inside.erase(*entry), 1U);
      for (const FairQueue::Entry& other : inside)  // nothing better of the same owner is left
        ASSERT_FALSE(other.owner == entry->owner &&
                     (other.priority > entry->priority ||
                      (other.priority == entry->priority && other.sequence < entry->sequence)));
      queue.Charge(entry->owner, static_cast<double>(random() % 100));
    } else {
      ASSERT_TRUE(inside.empty());
    }
    ASSERT_EQ(queue.size(), inside.size());
    size_t bytes = 0;
    size_t of_a = 0;
    for (const FairQueue::Entry& entry : inside) {
      bytes += entry.bytes;
      of_a += entry.owner == "a" ? entry.bytes : 0;
    }
    ASSERT_EQ(queue.bytes(), bytes);
    ASSERT_EQ(queue.bytes("a"), of_a);
  }
}

}  // namespace
}  // namespace assay
