#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

/// Precisions of arithmetic, in the order of the columns of kArchitectures.
enum class Precision { kFp64, kFp64Matrix, kFp32, kTf32, kFp16, kInt8, kFp8 };
inline constexpr int kPrecisions = 7;

/// Operations per clock and multiprocessor, a multiply-add being two; 0: it has no such unit.
/// fp16 and bf16 are one column. Where accumulation in fp16 is faster, the faster is listed: a
/// bound may not be too long.
struct Architecture {
  int compute = 0;  ///< 90 is compute capability 9.0
  double rates[kPrecisions] = {};
};

/// What a card can do at the most. Stored as units, rates and clocks, never as TFLOP/s: published
/// figures mix clocks and sparsity, and products can be checked.
struct Card {
  std::string name;
  int compute = 0;
  int multiprocessors = 0;
  double clock_ghz = 0;         ///< highest that the card may run at
  double matrix_clock_ghz = 0;  ///< that published matrix figures are for
  double dram_gbs = 0;          ///< GB/s (1e9 bytes)
  double l2_bytes = 0;
  double rates[kPrecisions] = {};
  bool datasheet = true;  ///< false: nothing is published; every rate is measured
};

/// Operations per second at the highest clock.
double PeakFlops(const Card& card, Precision precision);

/// What a device says of itself; 0 or empty where it does not.
struct DeviceFacts {
  std::string name;
  int compute = 0;
  int multiprocessors = 0;
  double clock_ghz = 0;
  double dram_gbs = 0;  ///< bus width times memory clock
  double l2_bytes = 0;
};

/// The table's cards.
const std::vector<Card>& Cards();

/// A card by a name that a person or a driver gives ("H200", "NVIDIA H100 PCIe"). kNotFound lists
/// the names there are.
Result<Card> FindCard(std::string_view name);

/// A device's card: the table's row corrected by what the device says (fewer multiprocessors in a
/// slice, a higher clock, another L2). A card that is not in the table is made of its architecture
/// and its facts. kUnavailable, with the missing fact, where that is not enough.
Result<Card> CardOf(const DeviceFacts& device);

}  // namespace assay
