#include "rl/random.h"

namespace assay::rl {
namespace {

constexpr uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32U); }

double Unit(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32U) | low;
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

}  // namespace

std::array<uint32_t, 4> Philox(uint64_t key, std::array<uint32_t, 4> c) {
  uint32_t k0 = Low(key);
  uint32_t k1 = High(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {High(b) ^ c[1] ^ k0, Low(b), High(a) ^ c[3] ^ k1, Low(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

double UniformAt(uint64_t seed, uint32_t step, uint64_t trajectory, uint32_t turn) {
  const auto words = Philox(seed, {Low(trajectory), High(trajectory), turn, step});
  return Unit(words[0], words[1]);
}

uint64_t Random::Next() {
  if (left_ == 0) {
    words_ = Philox(seed_, {Low(block_), High(block_), Low(stream_), High(stream_)});
    ++block_;
    left_ = 2;
  }
  --left_;
  const auto i = static_cast<size_t>(left_) * 2;
  return (static_cast<uint64_t>(words_[i]) << 32U) | words_[i + 1];
}

double Random::Uniform() { return static_cast<double>(Next() >> 11U) * 0x1.0p-53; }

uint64_t Random::Below(uint64_t n) {
  // Draws from the incomplete last stretch of 2^64 are drawn again.
  const uint64_t rest = (0 - n) % n;
  uint64_t x = Next();
  while (x < rest) x = Next();
  return x % n;
}

}  // namespace assay::rl
