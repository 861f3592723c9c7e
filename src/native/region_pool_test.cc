#include "native/region_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace assay {
namespace {

constexpr uint64_t kBegin = 0x7f0000000000;

TEST(RegionPool, WithoutARegionThereIsNothing) {
  RegionPool pool;
  EXPECT_EQ(pool.Take(1), 0u);
  EXPECT_FALSE(pool.Give(kBegin));
  pool.Reset(kBegin, 100);
  EXPECT_EQ(pool.Take(1), 0u);
}

TEST(RegionPool, PiecesAreAlignedAndJoinedAgain) {
  RegionPool pool;
  pool.Reset(kBegin, 2048);
  const uint64_t a = pool.Take(1);
  const uint64_t b = pool.Take(513);
  const uint64_t c = pool.Take(0);
  EXPECT_EQ(a, kBegin);
  EXPECT_EQ(b, kBegin + 512);
  EXPECT_EQ(c, kBegin + 1536);
  EXPECT_EQ(pool.Take(1), 0u);
  EXPECT_TRUE(pool.Give(a));
  EXPECT_TRUE(pool.Give(c));
  EXPECT_EQ(pool.Take(1024), 0u) << "two pieces apart are not one";
  EXPECT_TRUE(pool.Give(b));
  EXPECT_EQ(pool.Take(2048), kBegin);
}

TEST(RegionPool, NothingIsGivenTwice) {
  RegionPool pool;
  pool.Reset(kBegin, 4096);
  const uint64_t a = pool.Take(1000);
  EXPECT_FALSE(pool.Give(a + 512));
  EXPECT_TRUE(pool.Give(a));
  EXPECT_FALSE(pool.Give(a));
  pool.Reset(kBegin, 4096);
  EXPECT_FALSE(pool.Give(a)) << "of the former region";
  EXPECT_EQ(pool.Take(SIZE_MAX), 0u);
  EXPECT_EQ(pool.Take(SIZE_MAX - 100), 0u);
}

TEST(RegionPool, PiecesNeverOverlapAndAllComesBack) {
  std::mt19937 random(7);
  RegionPool pool;
  constexpr size_t kBytes = 1 << 20;
  pool.Reset(kBegin, kBytes);
  std::map<uint64_t, size_t> held;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0) {
      const size_t bytes = 1 + random() % (kBytes / 16);
      const uint64_t address = pool.Take(bytes);
      if (address == 0) continue;
      ASSERT_GE(address, kBegin);
      ASSERT_LE(address + bytes, kBegin + kBytes);
      const auto after = held.upper_bound(address);
      if (after != held.end()) {
        ASSERT_LE(address + bytes, after->first);
      }
      if (after != held.begin()) {
        ASSERT_GE(address, std::prev(after)->first + std::prev(after)->second);
      }
      held[address] = bytes;
    } else if (!held.empty()) {
      auto piece = std::next(held.begin(), static_cast<long>(random() % held.size()));
      ASSERT_TRUE(pool.Give(piece->first));
      held.erase(piece);
    }
  }
  for (const auto& [address, bytes] : held) ASSERT_TRUE(pool.Give(address));
  EXPECT_EQ(pool.Take(kBytes), kBegin);
}

}  // namespace
}  // namespace assay
