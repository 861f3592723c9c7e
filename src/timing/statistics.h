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

Summary Summarize(std::span<const double> samples);

/// A ratio and its 95 % interval.
struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Median over rounds of reference[i] / candidate[i] (round i ran both, interleaved, on the same
/// inputs), with a percentile-bootstrap 95 % interval over rounds. Deterministic. The spans have
/// one length, at least 1; with one round the interval is the value itself.
Ratio PairedRatio(std::span<const double> reference, std::span<const double> candidate);

/// One candidate's round of `calls` calls, as two clocks saw it.
struct RoundClock {
  int calls = 0;
  double outside_us = 0;           ///< worker's clock, go to done
  double overhead_us = 0;          ///< the same bracket with a module that does nothing (calibrated)
  std::vector<double> inside_us;   ///< candidate's own clock per call (device events); untrusted
};

/// How the two clocks agree over all rounds of a submission.
struct Reconciled {
  std::vector<double> paid_us;  ///< per round: microseconds per call that count
  double inside_us = 0;         ///< median over rounds of the mean of the inside clock
  double outside_us = 0;        ///< median over rounds of (outside - overhead) / calls
  bool agree = false;           ///< the inside clock is within tolerance of the outside one
};

/// Joins the clocks. The inside clock is precise but lives in the candidate's process, the outside
/// one is coarse but cannot be lied to; a round pays its inside mean only while the outside clock
/// allows it, otherwise it pays the outside figure:
///
///     outside_i = max(0, outside - overhead) / calls
///     tolerance = 1 us + 5 % of outside_i + 5 us / calls
///     paid_i    = inside_i  if |inside_i - outside_i| <= tolerance  else max(inside_i, outside_i)
Reconciled Reconcile(std::span<const RoundClock> rounds);

}  // namespace assay
