#include "timing/clocks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/result.h"
#include "timing/statistics.h"

namespace assay {
namespace {

// What std::chrono::steady_clock resolves; a bracket below it is a bug, not a time.
constexpr double kClockStepUs = 1e-3;

// Where the inside and outside clocks of an honest round may differ: a part per round (go and done
// cross two processes), a part per call (recording events, caches) and a part in proportion.
constexpr double kLeastSlackUs = 5;
constexpr double kCallToleranceUs = 1;
constexpr double kRelativeTolerance = 0.05;
// The most that an inside clock can gain for its owner.
constexpr double kLeastPaidShare = 0.95;
// The share of a bracket that calibrated overhead can never explain away.
constexpr double kLeastOwnShare = 0.05;
// The share of a round that may be taken off for what honest rounds cost beside calls and bracket.
constexpr double kMostRestShare = 0.08;
// What the outside clock vouches for is this quantile of its rounds, see Reconcile().
constexpr double kLevelQuantile = 0.3;
// An honest round may be preempted now and then; an honest clock does not disagree more often.
constexpr double kAgreeingShare = 0.75;

/// Median of the inside clock, or nothing when it is not one finite positive time per call, or says
/// that the calls took longer than the round that they were in.
std::optional<double> InsideMedian(const RoundClock& round) {
  if (round.inside_us.size() != static_cast<size_t>(round.calls)) return std::nullopt;
  double sum = 0;
  for (const double time : round.inside_us) {
    if (!std::isfinite(time) || time <= 0) return std::nullopt;
    sum += time;
  }
  const double longest =
      (1 + kRelativeTolerance) * round.outside_us + kCallToleranceUs * round.calls + round.slack_us;
  if (sum > longest) return std::nullopt;
  return Quantile(round.inside_us, 0.5);
}

double OutsidePerCall(const RoundClock& round) {
  ASSAY_CHECK(IsValid(round));
  return std::max(round.outside_us - round.overhead_us, kLeastOwnShare * round.outside_us) /
         round.calls;
}

}  // namespace

bool IsValid(const RoundClock& round) {
  return round.calls >= 1 && std::isfinite(round.outside_us) && round.outside_us >= kClockStepUs &&
         std::isfinite(round.overhead_us) && round.overhead_us >= 0 &&
         std::isfinite(round.slack_us) && round.slack_us >= 0;
}

std::vector<double> TrustedTimes(std::span<const RoundClock> rounds) {
  std::vector<double> times;
  for (const RoundClock& round : rounds)
    times.push_back(InsideMedian(round).value_or(OutsidePerCall(round)));
  return times;
}

Reconciled Reconcile(std::span<const RoundClock> rounds) {
  Reconciled result;
  if (rounds.empty()) return result;
  std::vector<double> outsides;
  for (const RoundClock& round : rounds) outsides.push_back(OutsidePerCall(round));
  const double level = Quantile(outsides, kLevelQuantile);
  std::vector<double> insides;
  int within = 0;
  for (size_t i = 0; i < rounds.size(); ++i) {
    const std::optional<double> inside = InsideMedian(rounds[i]);
    if (!inside) {
      // An empty clock claims nothing; a malformed one is a claim that cannot be believed.
      if (!rounds[i].inside_us.empty()) ++result.overruled;
      result.paid_us.push_back(outsides[i]);
      continue;
    }
    insides.push_back(*inside);
    const double tolerance =
        kCallToleranceUs + kRelativeTolerance * level + rounds[i].slack_us / rounds[i].calls;
    const bool believed = *inside >= level - tolerance;
    if (!believed) ++result.overruled;
    // What lengthened this round lengthened both clocks.
    if (believed && *inside <= std::max(level, outsides[i]) + tolerance) ++within;
    const double vouched = std::max(level, outsides[i]);
    result.paid_us.push_back(*inside >= kLeastPaidShare * level ? *inside
                             : believed                         ? kLeastPaidShare * vouched
                                                                : vouched);
  }
  result.usable = static_cast<int>(insides.size());
  if (!insides.empty()) result.inside_us = Quantile(insides, 0.5);
  result.outside_us = level;
  result.agree = within > 0 && within >= kAgreeingShare * static_cast<double>(rounds.size());
  return result;
}

double Bracket::Of(double outside_us) const {
  return empty_us + std::min(rest_us, kMostRestShare * outside_us);
}

Bracket LearnBracket(std::span<const double> empty_us, std::span<const RoundClock> trusted) {
  Bracket bracket;
  if (!empty_us.empty()) bracket.empty_us = std::max(0.0, Quantile(empty_us, 0.2));
  std::vector<double> rest;
  for (const RoundClock& round : trusted) {
    if (const std::optional<double> inside = InsideMedian(round))
      rest.push_back(round.outside_us - *inside * round.calls - round.taking_us - bracket.empty_us);
  }
  if (rest.empty()) return bracket;
  bracket.rest_us = std::max(0.0, Quantile(rest, 0.2));
  bracket.slack_us = std::max(kLeastSlackUs, Quantile(rest, 0.9) - bracket.rest_us);
  return bracket;
}

}  // namespace assay
