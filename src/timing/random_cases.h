#pragma once

#include <cmath>
#include <random>

namespace assay::test {

/// Random cases for property tests; the seed is fixed, so a failure repeats.
class RandomCases {
 public:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int Int(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double LogUniform(double low, double high) {
    return std::exp(Uniform(std::log(low), std::log(high)));
  }

 private:
  std::mt19937_64 random_{20240229};
};

}  // namespace assay::test
