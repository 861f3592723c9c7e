#pragma once

#include <span>
#include <vector>

namespace assay {

/// Order statistics of one set of samples. Units are the samples'.
struct Summary {
  double median = 0;
  double p20 = 0;
  double p80 = 0;
  double min = 0;
  int n = 0;
};

/// Quantile `q` in [0, 1] by linear interpolation between order statistics (Hyndman-Fan type 7).
/// `samples` must not be empty.
double Quantile(std::span<const double> samples, double q);

/// Of at least one sample.
Summary Summarize(std::span<const double> samples);

/// A ratio and its 95 % interval; low <= value <= high.
struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Median over rounds of reference[i] / candidate[i] (round i ran both, interleaved, on the same
/// inputs), with a percentile-bootstrap 95 % interval over rounds. Deterministic. The spans have
/// one length, at least 1, and hold finite positive times; with one round the interval is the value
/// itself. Of few rounds the resamples are too much alike: with four the interval covers the truth
/// in 84 of 100 cases. It is what timing ends by.
Ratio ResampledRatio(std::span<const double> reference, std::span<const double> candidate);

/// The same as verdicts give it: of up to 16 rounds the interval is Student's about the median, on
/// the log scale, where that is wider.
Ratio PairedRatio(std::span<const double> reference, std::span<const double> candidate);

/// The same over several pairs of fresh processes: pair k ran the next rounds[k] of the rounds.
/// Geometric mean over pairs of their PairedRatio, with Student's 95 % interval over pairs on the
/// log scale, so what differs from process to process is in the interval. `rounds` holds one to 16
/// positive numbers, which add up to the length of the spans; with one it is PairedRatio.
Ratio RatioOverPairs(std::span<const double> reference, std::span<const double> candidate,
                     std::span<const int> rounds);

}  // namespace assay
