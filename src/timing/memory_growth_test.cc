#include "timing/memory_growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace assay {
namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr int64_t kCalls = 20;  // a round

std::vector<MemorySample> Rounds(const std::function<uint64_t(int64_t)>& device, int rounds = 3) {
  std::vector<MemorySample> samples;
  for (int i = 0; i <= rounds; ++i)
    samples.push_back({i * kCalls, 500 * kMiB, 3000 * kMiB + device(i * kCalls)});
  return samples;
}

TEST(MemoryGrowth, AnOutputKeptForEveryCallIsSeen) {
  const auto kept = [](int64_t calls) { return static_cast<uint64_t>(calls) * 4 * kMiB; };
  EXPECT_DOUBLE_EQ(MemoryGrowth(Rounds(kept), 4 * kMiB), 4.0 * kMiB);
  std::vector<MemorySample> host = Rounds([](int64_t) { return 0; });
  for (MemorySample& sample : host) sample.host_bytes += kept(sample.calls);
  EXPECT_DOUBLE_EQ(MemoryGrowth(host, 4 * kMiB), 4.0 * kMiB);
}

TEST(MemoryGrowth, AllocatorsPiecesDoNotHideIt) {
  const auto pieces = [](int64_t calls) {
    const uint64_t kept = static_cast<uint64_t>(calls) * 4 * kMiB;
    return (kept + 20 * kMiB - 1) / (20 * kMiB) * (20 * kMiB);
  };
  EXPECT_NEAR(MemoryGrowth(Rounds(pieces), 4 * kMiB), 4.0 * kMiB, kMiB);
  // The first round uses up what was free.
  const auto free = [](int64_t calls) {
    return static_cast<uint64_t>(std::max<int64_t>(calls, 20)) * 4 * kMiB;
  };
  EXPECT_DOUBLE_EQ(MemoryGrowth(Rounds(free), 4 * kMiB), 4.0 * kMiB);
}

TEST(MemoryGrowth, WhatFillsUpOrStepsIsNoGrowth) {
  const auto fills = [](int64_t calls) {
    return static_cast<uint64_t>(std::min<int64_t>(calls, 40)) * 4 * kMiB;
  };
  EXPECT_EQ(MemoryGrowth(Rounds(fills), 4 * kMiB), 0);
  // One large step, of another process for example.
  const auto step = [](int64_t calls) { return calls > 40 ? 4000 * kMiB : 0; };
  EXPECT_EQ(MemoryGrowth(Rounds(step), 4 * kMiB), 0);
  EXPECT_EQ(MemoryGrowth(Rounds([](int64_t) { return 0; }), 4 * kMiB), 0);
}

TEST(MemoryGrowth, NoiseAndSlowGrowthAreNone) {
  uint64_t state = 1;
  const auto noise = [&](int64_t) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % (60 * kMiB);
  };
  for (int i = 0; i < 200; ++i) EXPECT_EQ(MemoryGrowth(Rounds(noise), 4 * kMiB), 0) << i;
  // A hundredth of an output a call: a log, not a result.
  const auto slow = [](int64_t calls) { return static_cast<uint64_t>(calls) * kMiB / 25; };
  EXPECT_EQ(MemoryGrowth(Rounds(slow), 4 * kMiB), 0);
  const auto less = [](int64_t calls) { return 4000 * kMiB - static_cast<uint64_t>(calls) * kMiB; };
  EXPECT_EQ(MemoryGrowth(Rounds(less), kMiB), 0);
}

TEST(MemoryGrowth, FewRoundsAndSmallOutputsSayNothing) {
  const auto kept = [](int64_t calls) { return static_cast<uint64_t>(calls) * 4 * kMiB; };
  EXPECT_EQ(MemoryGrowth({}, 4 * kMiB), 0);
  EXPECT_EQ(MemoryGrowth(Rounds(kept, 2), 4 * kMiB), 0);
  EXPECT_EQ(MemoryGrowth(Rounds(kept), 0), 0);
  const auto small = [](int64_t calls) { return static_cast<uint64_t>(calls) * 4096; };
  EXPECT_EQ(MemoryGrowth(Rounds(small), 4096), 0);
}

}  // namespace
}  // namespace assay
