#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace assay {

/// Hidden seeds of one submission: HMAC-SHA256(secret, id | purpose | counter), 63 bits. The secret
/// stays in this process; only the judge sees seeds, and no input seed occurs twice.
class SeedSource {
 public:
  SeedSource(std::string_view secret, std::string_view id) : secret_(secret), id_(id) {}

  uint64_t Next(std::string_view purpose) {
    const std::string label = id_ + "|" + std::string(purpose) + "|" + std::to_string(counter_++);
    const Digest digest = HmacSha256(secret_, label);
    uint64_t seed = 0;
    for (size_t i = 0; i < 8; ++i) seed = (seed << 8u) | digest[i];
    return seed >> 1u;
  }

  std::vector<uint64_t> Next(std::string_view purpose, size_t count) {
    std::vector<uint64_t> seeds(count);
    for (uint64_t& seed : seeds) seed = Next(purpose);
    return seeds;
  }

 private:
  const std::string secret_;
  const std::string id_;
  uint64_t counter_ = 0;
};

}  // namespace assay
