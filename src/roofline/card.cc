#include "roofline/card.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"

namespace assay {
namespace {

constexpr double kMega = 1e6;

//                                fp64  m.fp64 fp32  tf32   fp16   int8   fp8
constexpr Architecture kArchitectures[] = {
    {70, {64, 0, 128, 0, 1024, 0, 0}},
    {75, {4, 0, 128, 0, 1024, 2048, 0}},
    {80, {64, 128, 128, 1024, 2048, 4096, 0}},
    {86, {4, 0, 256, 512, 1024, 2048, 0}},
    {89, {4, 0, 256, 512, 1024, 2048, 2048}},
    {90, {128, 256, 256, 2048, 4096, 8192, 8192}},
    {100, {128, 128, 256, 4096, 8192, 16384, 16384}},
};

struct Row {
  const char* name;
  const char* words;  ///< all of which a device's name must hold
  int compute;
  int multiprocessors;
  double clock_ghz;
  double matrix_clock_ghz;
  double dram_gbs;
  double l2_mb;
  double tf32 = 0;  ///< where the card's units are slower than the architecture's
};

// More particular names first: the first row that fits is taken.
constexpr Row kRows[] = {
    {"A100 40GB", "a100 40gb", 80, 108, 1.41, 1.41, 1555, 40},
    {"A100 80GB PCIe", "a100 80gb pcie", 80, 108, 1.41, 1.41, 1935, 40},
    {"A100 80GB", "a100", 80, 108, 1.41, 1.41, 2039, 40},
    {"H100 PCIe", "h100 pcie", 90, 114, 1.755, 1.62, 2039, 50},
    {"H100 NVL", "h100 nvl", 90, 132, 1.785, 1.545, 3938, 50},
    {"H100 SXM", "h100", 90, 132, 1.98, 1.83, 3350, 50},
    {"H200", "h200", 90, 132, 1.98, 1.83, 4800, 60},
    {"GB200", "gb200", 100, 148, 2.06, 2.06, 8000, 126},
    {"B200", "b200", 100, 148, 1.965, 1.855, 8000, 126},
    {"L40S", "l40s", 89, 142, 2.52, 2.49, 864, 96},
    {"L4", "l4", 89, 58, 2.04, 2.04, 300, 48},
    {"RTX 4090", "4090", 89, 128, 2.52, 2.52, 1008, 72, 256},
    {"A10G", "a10g", 86, 80, 1.71, 1.71, 600, 6, 256},
    {"A10", "a10", 86, 72, 1.695, 1.695, 600, 6},
    {"T4", "t4", 75, 40, 1.59, 1.59, 320, 4},
};

const Architecture* FindArchitecture(int compute) {
  const auto* found =
      std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                   [&](const Architecture& each) { return each.compute == compute; });
  return found == std::end(kArchitectures) ? nullptr : found;
}

/// Whether all words of a row are words of the name: "l4" is none of "L40S".
bool Fits(const Row& row, const std::string& name) {
  std::string plain = ToLower(name);
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == '-' || c == '_' || c == '/'; }, ' ');
  const std::vector<std::string_view> said = Split(plain, ' ');
  const std::vector<std::string_view> wanted = Split(row.words, ' ');
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view word) {
    return std::find(said.begin(), said.end(), word) != said.end();
  });
}

Card Make(const Row& row) {
  Card card{.name = row.name,
            .compute = row.compute,
            .multiprocessors = row.multiprocessors,
            .clock_ghz = row.clock_ghz,
            .matrix_clock_ghz = row.matrix_clock_ghz,
            .dram_gbs = row.dram_gbs,
            .l2_bytes = row.l2_mb * kMega};
  const Architecture* architecture = FindArchitecture(row.compute);
  ASSAY_CHECK(architecture != nullptr);
  std::copy(std::begin(architecture->rates), std::end(architecture->rates), card.rates);
  if (row.tf32 > 0) card.rates[static_cast<int>(Precision::kTf32)] = row.tf32;
  return card;
}

}  // namespace

double PeakFlops(const Card& card, Precision precision) {
  return card.rates[static_cast<int>(precision)] * card.multiprocessors * card.clock_ghz * 1e9;
}

const std::vector<Card>& Cards() {
  static const std::vector<Card> kCards = [] {
    std::vector<Card> cards;
    for (const Row& row : kRows) cards.push_back(Make(row));
    return cards;
  }();
  return kCards;
}

Result<Card> FindCard(std::string_view name) {
  for (const Row& row : kRows)
    if (ToLower(name) == ToLower(row.name) || Fits(row, std::string(name))) return Make(row);
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return Err(ErrorCode::kNotFound, "there is no card '{}' in the table; there are {}",
             CleanText(TruncateMiddle(name, 100)), Join(names, ", "));
}

Result<Card> CardOf(const DeviceFacts& device) {
  Card card;
  if (Result<Card> found = FindCard(device.name); found.ok()) {
    card = *found;
  } else {
    const Architecture* architecture = FindArchitecture(device.compute);
    if (architecture == nullptr)
      return Err(ErrorCode::kUnavailable, "{}: no rates for compute capability {}.{}", device.name,
                 device.compute / 10, device.compute % 10);
    card.name = device.name;
    card.compute = device.compute;
    std::copy(std::begin(architecture->rates), std::end(architecture->rates), card.rates);
  }
  if (device.multiprocessors > 0) card.multiprocessors = device.multiprocessors;
  card.clock_ghz = std::max(card.clock_ghz, device.clock_ghz);
  card.dram_gbs = std::max(card.dram_gbs, device.dram_gbs);
  if (device.l2_bytes > 0) card.l2_bytes = device.l2_bytes;
  if (card.multiprocessors <= 0 || card.clock_ghz <= 0 || card.dram_gbs <= 0)
    return Err(ErrorCode::kUnavailable,
               "{} is not in the table, and its multiprocessors, clock or memory rate are unknown; "
               "run `assay calibrate` on it",
               device.name);
  return card;
}

}  // namespace assay
