#pragma once

#include <cstdint>
#include <span>

namespace assay {

/// What was in use after a round, seen from outside of the process that ran it.
struct MemorySample {
  int64_t calls = 0;          ///< so far, each on inputs that came for the first time
  uint64_t host_bytes = 0;    ///< private memory of the process and its children
  uint64_t device_bytes = 0;  ///< used on the card, by all; 0 where it is not told
};

/// Growth that is no less than this can be told from allocators' pieces: on the card 20 MiB, the
/// largest of torch's usual ones.
inline constexpr double kDevicePiece = 24u << 20;
inline constexpr double kHostPiece = 2u << 20;

/// Bytes by which memory grows with every call, where it does: in each of the rounds that the
/// samples are of, by an output's size for nearly every call and by more than a piece. 0 where it
/// does not. The first round says nothing: what allocators hold free is used up in it.
double MemoryGrowth(std::span<const MemorySample> samples, uint64_t output_bytes);

}  // namespace assay
