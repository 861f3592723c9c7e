#pragma once

#include <cmath>

namespace assay::rl {

/// Count, mean and sum of squared deviations; exact for identical values, mergeable.
struct Moments {
  double n = 0;
  double mean = 0;
  double m2 = 0;

  void Add(double x) {
    n += 1;
    const double delta = x - mean;
    mean += delta / n;
    m2 += delta * (x - mean);
  }
  void Merge(const Moments& other) {
    if (other.n == 0) return;
    const double total = n + other.n;
    const double delta = other.mean - mean;
    mean += delta * other.n / total;
    m2 += other.m2 + delta * delta * n * other.n / total;
    n = total;
  }
  /// Unbiased; 0 of fewer than two.
  [[nodiscard]] double Std() const { return n < 2 ? 0.0 : std::sqrt(m2 / (n - 1)); }
};

}  // namespace assay::rl
