#include "timing/memory_growth.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace assay {
namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr int64_t kCalls = 20;  // a round

std::vector<MemorySample> Rounds(int rounds, const std::function<uint64_t(int64_t)>& device) {
  std::vector<MemorySample> samples;
  for (int i = 1; i <= rounds; ++i)
    samples.push_back({i * kCalls, 500 * kMiB, 3000 * kMiB + device(i * kCalls)});
  return samples;
}

TEST(MemoryGrowth, AnOutputKeptForEveryCallIsSeen) {
  const auto kept = [](int64_t calls) { return static_cast<uint64_t>(calls) * 4 * kMiB; };
  EXPECT_DOUBLE_EQ(MemoryGrowth(Rounds(10, kept), 4 * kMiB), 4.0 * kMiB);
  EXPECT_DOUBLE_EQ(MemoryGrowth(Rounds(6, kept), 4 * kMiB), 4.0 * kMiB);
  std::vector<MemorySample> host = Rounds(10, [](int64_t) { return 0; });
  for (MemorySample& sample : host) sample.host_bytes += kept(sample.calls);
  EXPECT_DOUBLE_EQ(MemoryGrowth(host, 4 * kMiB), 4.0 * kMiB);
}

TEST(MemoryGrowth, AllocatorsPiecesDoNotHideIt) {
  const auto pieces = [](int64_t calls) {
    const uint64_t kept = static_cast<uint64_t>(calls) * 3 * kMiB;
    return (kept + 20 * kMiB - 1) / (20 * kMiB) * (20 * kMiB);
  };
  EXPECT_NEAR(MemoryGrowth(Rounds(12, pieces), 3 * kMiB), 3.0 * kMiB, kMiB);
}

TEST(MemoryGrowth, WhatFillsUpAtFirstIsNoGrowth) {
  const auto fills = [](int64_t calls) {
    return static_cast<uint64_t>(std::min<int64_t>(calls, 80)) * 4 * kMiB;
  };
  EXPECT_EQ(MemoryGrowth(Rounds(10, fills), 4 * kMiB), 0);
  // One large step in the last half, of another process for example.
  const auto step = [](int64_t calls) { return calls > 160 ? 4000 * kMiB : 0; };
  EXPECT_EQ(MemoryGrowth(Rounds(10, step), 4 * kMiB), 0);
  const auto steady = [](int64_t) { return 0; };
  EXPECT_EQ(MemoryGrowth(Rounds(64, steady), 4 * kMiB), 0);
}

TEST(MemoryGrowth, AFewResultsInTurnAreNoGrowth) {
  // Rounds of a slow call: two each, of which a module keeps the last eight results.
  std::vector<MemorySample> samples;
  for (int64_t calls = 2; calls <= 12; calls += 2)
    samples.push_back({calls, static_cast<uint64_t>(std::min<int64_t>(calls, 8)) * 4 * kMiB, 0});
  EXPECT_EQ(MemoryGrowth(samples, 4 * kMiB), 0);
  // As few calls tell nothing of what keeps all of them.
  for (MemorySample& sample : samples)
    sample.host_bytes = static_cast<uint64_t>(sample.calls) * 4 * kMiB;
  EXPECT_EQ(MemoryGrowth(samples, 4 * kMiB), 0);
}

TEST(MemoryGrowth, NoiseAndSlowGrowthAreNone) {
  uint64_t state = 1;
  const auto noise = [&](int64_t) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % (30 * kMiB);
  };
  for (int i = 0; i < 200; ++i) EXPECT_EQ(MemoryGrowth(Rounds(12, noise), 4 * kMiB), 0) << i;
  // A hundredth of an output a call: a log, not a result.
  const auto slow = [](int64_t calls) { return static_cast<uint64_t>(calls) * kMiB / 25; };
  EXPECT_EQ(MemoryGrowth(Rounds(64, slow), 4 * kMiB), 0);
  // Memory that shrinks.
  const auto less = [](int64_t calls) { return 4000 * kMiB - static_cast<uint64_t>(calls) * kMiB; };
  EXPECT_EQ(MemoryGrowth(Rounds(12, less), kMiB), 0);
}

TEST(MemoryGrowth, FewRoundsSayNothing) {
  const auto kept = [](int64_t calls) { return static_cast<uint64_t>(calls) * 4 * kMiB; };
  EXPECT_EQ(MemoryGrowth({}, 4 * kMiB), 0);
  EXPECT_EQ(MemoryGrowth(Rounds(5, kept), 4 * kMiB), 0);
  EXPECT_EQ(MemoryGrowth(Rounds(10, kept), 0), 0);
  // Of small outputs nothing can be told.
  const auto small = [](int64_t calls) { return static_cast<uint64_t>(calls) * 4096; };
  EXPECT_EQ(MemoryGrowth(Rounds(10, small), 4096), 0);
}

}  // namespace
}  // namespace assay
