#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::rl {

/// Philox-4x32-10: a counter-based generator. The draw for a key and a counter is the same whatever
/// was drawn before, in any order and on any thread.
std::array<uint32_t, 4> Philox(uint64_t key, std::array<uint32_t, 4> counter);

/// Uniform in [0, 1) with 53 random bits, for one turn of one trajectory in one training step.
double UniformAt(uint64_t seed, uint32_t step, uint64_t trajectory, uint32_t turn);

/// A stream of draws for resampling.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}
  uint64_t Next();
  double Uniform();
  /// Uniform in [0, n), without bias.
  uint64_t Below(uint64_t n);

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t block_ = 0;
  std::array<uint32_t, 4> words_ = {};
  int left_ = 0;
};

}  // namespace assay::rl
