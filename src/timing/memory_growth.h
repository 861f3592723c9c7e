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

/// Bytes by which memory grows with every call, where it does: in each of two parts of the rounds,
/// by an output's size for nearly every call. 0 where it does not, or where that cannot be told
/// from what allocators do (a few outputs, or small ones). First rounds (two, and of many the first
/// half) say nothing: they fill caches, compile and tune.
double MemoryGrowth(std::span<const MemorySample> samples, uint64_t output_bytes);

}  // namespace assay
