#pragma once

#include <span>
#include <vector>

namespace assay {

/// One process's round of `calls` calls, as two clocks saw it.
struct RoundClock {
  int calls = 0;
  double outside_us = 0;   ///< worker's clock, go until the device is idle or the process stopped
  double overhead_us = 0;  ///< what the bracket costs beside the calls
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
  int usable = 0;      ///< rounds whose inside clock is one finite positive time per call, which
                       ///< together are no longer than the round
  int overruled = 0;   ///< rounds that claimed what the outside clock cannot believe
  bool agree = false;  ///< the clocks are within tolerance in three quarters of the rounds
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
