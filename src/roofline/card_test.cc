#include "roofline/card.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

/// Published dense TFLOP/s, each at its own clock: vector figures at the boost clock, matrix
/// figures at the matrix clock. 0: not published.
struct Published {
  const char* name;
  double fp32, tf32, fp16, int8;
};

constexpr Published kPublished[] = {
    {"A100 40GB", 19.5, 156, 312, 624},
    {"A100 80GB", 19.5, 156, 312, 624},
    {"A100 80GB PCIe", 19.5, 156, 312, 624},
    {"H100 PCIe", 51, 378, 756, 1513},
    {"H100 NVL", 60, 418, 835, 1671},
    {"H100 SXM", 66.9, 494.7, 989.4, 1979},
    {"H200", 66.9, 494.7, 989.4, 1979},
    {"B200", 75, 1125, 2250, 4500},
    {"GB200", 80, 1250, 2500, 5000},
    {"L40S", 91.6, 183, 362, 733},
    {"L4", 30.3, 60.5, 121, 242},
    {"RTX 4090", 82.6, 82.6, 330, 661},
    {"A10", 31.2, 62.5, 125, 250},
    {"A10G", 35, 35, 140, 0},
    {"T4", 8.1, 0, 65, 130},
};

TEST(Card, TableIsTheProductOfUnitsRatesAndClocks) {
  ASSERT_EQ(std::size(kPublished), Cards().size()) << "a card without its published figures";
  for (const Published& published : kPublished) {
    SCOPED_TRACE(published.name);
    const Result<Card> card = FindCard(published.name);
    ASSERT_TRUE(card.ok());
    EXPECT_EQ(card->name, published.name);
    const auto check = [&](Precision precision, double clock, double tera) {
      if (tera == 0) return;
      const double product =
          card->rates[static_cast<int>(precision)] * card->multiprocessors * clock * 1e-3;
      EXPECT_NEAR(product, tera, 0.03 * tera);
    };
    check(Precision::kFp32, card->clock_ghz, published.fp32);
    check(Precision::kTf32, card->matrix_clock_ghz, published.tf32);
    check(Precision::kFp16, card->matrix_clock_ghz, published.fp16);
    check(Precision::kInt8, card->matrix_clock_ghz, published.int8);
  }
}

TEST(Card, RatiosAreOnesThatUnitsHave) {
  // A table that holds a sparse figure, or a vector figure for a matrix one, has another ratio.
  for (const Card& card : Cards()) {
    const double fp32 = card.rates[static_cast<int>(Precision::kFp32)];
    const double fp16 = card.rates[static_cast<int>(Precision::kFp16)];
    EXPECT_TRUE((std::set<double>{4, 8, 16, 32}.contains(fp16 / fp32))) << card.name;
    EXPECT_GT(card.dram_gbs, 0);
    EXPECT_GT(card.l2_bytes, 1e6);
    EXPECT_LE(card.matrix_clock_ghz, card.clock_ghz);
  }
}

TEST(Card, BoundUsesTheHighestClock) {
  const Result<Card> card = FindCard("H200");
  ASSERT_TRUE(card.ok());
  EXPECT_NEAR(PeakFlops(*card, Precision::kFp16) / 1e12, 1070.5, 0.5);
  EXPECT_NEAR(PeakFlops(*card, Precision::kFp32) / 1e12, 66.9, 0.1);
}

TEST(Card, DriversNamesAreFound) {
  const std::pair<const char*, const char*> names[] = {
      {"NVIDIA H200", "H200"},
      {"NVIDIA H100 80GB HBM3", "H100 SXM"},
      {"NVIDIA H100 PCIe", "H100 PCIe"},
      {"NVIDIA H100 NVL", "H100 NVL"},
      {"NVIDIA A100-SXM4-80GB", "A100 80GB"},
      {"NVIDIA A100 80GB PCIe", "A100 80GB PCIe"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA A10G", "A10G"},
      {"NVIDIA A10", "A10"},
      {"Tesla T4", "T4"},
      {"NVIDIA GeForce RTX 4090", "RTX 4090"},
      {"NVIDIA B200", "B200"},
      {"NVIDIA GB200", "GB200"},
      {"h200", "H200"},
  };
  for (const auto& [said, name] : names) {
    const Result<Card> card = FindCard(said);
    ASSERT_TRUE(card.ok()) << said;
    EXPECT_EQ(card->name, name) << said;
  }
  for (const char* unknown : {"", "NVIDIA L400", "H2000", "A1000"}) {
    const Result<Card> card = FindCard(unknown);
    ASSERT_FALSE(card.ok()) << unknown;
    EXPECT_NE(card.error().message.find("H200"), std::string::npos);
  }
}

TEST(Card, DeviceFactsCorrectTheTable) {
  // A slice of a card has fewer multiprocessors, an overclocked one more clock.
  const Result<Card> slice = CardOf({.name = "NVIDIA H200",
                                     .compute = 90,
                                     .multiprocessors = 60,
                                     .clock_ghz = 2.1,
                                     .l2_bytes = 3e7});
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->multiprocessors, 60);
  EXPECT_EQ(slice->clock_ghz, 2.1);
  EXPECT_EQ(slice->l2_bytes, 3e7);
  // A memory that is slower than the table's may be measured wrong; the bound takes the faster.
  EXPECT_EQ((*CardOf({.name = "NVIDIA H200", .dram_gbs = 4000})).dram_gbs, 4800);
  EXPECT_EQ((*CardOf({.name = "NVIDIA H200", .dram_gbs = 4917})).dram_gbs, 4917);
}

TEST(Card, UnknownCardsAreMadeOfTheirFacts) {
  const DeviceFacts facts{.name = "NVIDIA H20",
                          .compute = 90,
                          .multiprocessors = 78,
                          .clock_ghz = 1.98,
                          .dram_gbs = 4000,
                          .l2_bytes = 6e7};
  const Result<Card> card = CardOf(facts);
  ASSERT_TRUE(card.ok());
  EXPECT_NEAR(PeakFlops(*card, Precision::kFp32) / 1e12, 39.5, 0.1);
  DeviceFacts lacking = facts;
  lacking.dram_gbs = 0;
  EXPECT_EQ(CardOf(lacking).error().code, ErrorCode::kUnavailable);
  lacking = facts;
  lacking.compute = 12;
  EXPECT_EQ(CardOf(lacking).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace assay
