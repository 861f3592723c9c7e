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

/// One process's round of `calls` calls, as two clocks saw it.
struct RoundClock {
  int calls = 0;
  double outside_us = 0;          ///< worker's clock, go until the device is idle
  double overhead_us = 0;         ///< what the bracket costs beside the calls
  std::vector<double> inside_us;  ///< the process's own clock per call; a candidate's is untrusted
  double slack_us = 5;            ///< how far the bracket's cost scatters from round to round
  double taking_us = 0;  ///< by the process's own clock, handing over the results; read only where
                         ///< the process is trusted
};

/// True when the worker's own figures make sense: calls >= 1, outside at least the nanosecond that
/// the clock resolves, overhead and slack at least 0, all finite.
/// Says nothing about inside_us, which may hold anything.
bool IsValid(const RoundClock& round);

/// How the two clocks agree over all rounds of a submission.
struct Reconciled {
  std::vector<double> paid_us;  ///< per round: microseconds per call that count; finite, > 0
  double inside_us = 0;         ///< median over usable rounds of inside_i; 0 when none is
  double outside_us = 0;        ///< the level: what the outside clock can vouch for, per call
  int usable = 0;               ///< rounds whose inside clock is one finite positive time per call
  int overruled = 0;            ///< rounds that claimed less than the outside clock can believe
  bool agree = false;           ///< the clocks are within tolerance in three quarters of the rounds
};

/// Joins the clocks. The inside clock is precise but lives in the candidate's process, the outside
/// one is coarse but cannot be lied to. A round pays its inside clock while the outside one allows
/// it, and whatever the inside clock says, never less than 95 % of what the outside one vouches
/// for:
///
///     outside_i = max(outside - overhead, 5 % of outside) / calls
///     level     = 30th percentile over rounds of outside_i
///     inside_i  = median over the calls of the round
///     tolerance = 1 us + 5 % of level + slack / calls
///     paid_i    = inside_i                           if inside_i >= 95 % of level
///                 95 % of max(level, outside_i)      if inside_i >= level - tolerance
///                 max(level, outside_i)              otherwise
///                 outside_i                          if the inside clock is not usable
///
/// The level is a low percentile because noise only ever lengthens a bracket, and not the lowest
/// round because a submission may leave out work in few rounds and hope that no output of these is
/// looked at: with three rounds in ten that loses more, by being caught, than it gains. The 95 %
/// matter for short kernels, where the tolerance is larger than the time itself: without them a
/// claim of zero would be within tolerance. The 5 % of the bracket keep a time above zero when the
/// calibrated overhead is as long as the round. A median leaves out the first calls of a round,
/// during which the device waits for the host.
/// Every round must be valid (IsValid); no rounds give an empty result.
Reconciled Reconcile(std::span<const RoundClock> rounds);

/// Microseconds per call of each round of a process that is trusted: its inside clock, or where
/// that is not usable the outside one less the overhead.
std::vector<double> TrustedTimes(std::span<const RoundClock> rounds);

/// What the bracket of a round costs beside its calls.
struct Bracket {
  double empty_us = 0;  ///< of a round without calls, 20th percentile: noise only adds
  double rest_us = 0;   ///< what an honest round costs beyond that (first calls that wait for the
                        ///< host, recording events), 20th percentile
  double slack_us =
      5;  ///< how far the rest scatters: the 90th percentile less the 20th, at least 5

  /// What is taken off a round. A candidate can leave out what makes the rest, so that is bounded:
  /// at most 8 % of the round.
  [[nodiscard]] double Of(double outside_us) const;
};

/// `empty_us`: the outside clock of rounds without calls. `trusted`: rounds of a process that is
/// trusted; there the inside clock is true, so what it leaves over beside an empty round is the
/// rest.
Bracket LearnBracket(std::span<const double> empty_us, std::span<const RoundClock> trusted);

}  // namespace assay
