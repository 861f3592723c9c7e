#include "rl/mismatch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rl/mismatch_metrics.h"
#include "rl/parallel.h"
#include "rl/token_scan.h"

namespace assay::rl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Scope NaturalScope(Level level) {
  if (level == Level::kToken) return Scope::kToken;
  return IsTurnLevel(level) ? Scope::kTurn : Scope::kTrajectory;
}

Status CheckLevel(const Index& index, Level level) {
  if (!IsTurnLevel(level) || index.multi_turn() || index.rows() == 0) return {};
  return Err(ErrorCode::kInvalid,
             "every trajectory has one turn, so a turn level is meant for another batch; use "
             "sequence (for turn) or geometric (for turn_geo)");
}

Status CheckBounds(const char* what, double lower, double upper) {
  if (lower >= 0 && upper > 0 && lower <= upper) return {};
  return Err(ErrorCode::kInvalid, "{}: bounds [{}, {}] must satisfy 0 <= lower <= upper, upper > 0",
             what, lower, upper);
}

template <typename T>
Status CheckTokens(const Index& index, const Tokens<T>& tokens, std::span<const TokenState> state) {
  ASSAY_RETURN_IF_ERROR(CheckOffsets(tokens.offsets, index.rows(), state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_train", tokens.logp_train.size(), state.size()));
  return CheckSize("logp_rollout", tokens.logp_rollout.size(), state.size());
}

Status CheckScans(std::span<const RowScan> scans) {
  for (size_t row = 0; row < scans.size(); ++row) {
    if (std::isnan(scans[row].sum_log)) {
      return Err(ErrorCode::kInvalid,
                 "row {}: a response token's log-ratio is not a number; check logp_train and "
                 "logp_rollout there, or take the token out of the mask",
                 row);
    }
    // Beside a token of -inf in another row it would make the trajectory's ratio nan, which no
    // bound rejects.
    if (scans[row].max_log == kInfinity) {
      return Err(
          ErrorCode::kInvalid,
          "row {}: a response token has logp_rollout -inf or logp_train inf; what was sampled "
          "had a probability",
          row);
    }
  }
  return {};
}

/// Spreads per-row causes over what the scope reaches.
void Spread(const Index& index, Scope scope, std::vector<uint8_t>& cause) {
  if (scope != Scope::kSuffix && scope != Scope::kTrajectory) return;
  for (size_t t = 0; t < index.trajectories(); ++t) {
    const auto turns = index.turns_of(t);
    uint8_t seen = 0;
    if (scope == Scope::kTrajectory) {
      for (const uint32_t row : turns) seen |= cause[row];
    }
    for (const uint32_t row : turns) {
      seen |= cause[row];
      cause[row] = seen;
    }
  }
}

Status CheckOptions(const Index& index, const MismatchOptions& options, size_t tokens,
                    size_t weights) {
  ASSAY_RETURN_IF_ERROR(CheckSize("weights", weights, options.importance ? tokens : 0));
  if (options.rejection) {
    const Rejection& r = *options.rejection;
    ASSAY_RETURN_IF_ERROR(CheckLevel(index, r.level));
    ASSAY_RETURN_IF_ERROR(CheckBounds("rejection", r.lower, r.upper));
    if (r.scope == Scope::kToken && r.level != Level::kToken) {
      return Err(ErrorCode::kInvalid, "scope token needs level token");
    }
    if (r.scope == Scope::kTurn && NaturalScope(r.level) == Scope::kTrajectory) {
      return Err(
          ErrorCode::kInvalid,
          "a trajectory's ratio condemns all of its turns; use scope trajectory or a turn level");
    }
  }
  if (options.importance) {
    const Level level = options.importance->level;
    ASSAY_RETURN_IF_ERROR(CheckLevel(index, level));
    if (!(options.importance->upper > 0)) {
      return Err(ErrorCode::kInvalid, "importance: upper is {}; it must be positive",
                 options.importance->upper);
    }
    if (level == Level::kTurnGeometric || level == Level::kGeometric) {
      return Err(ErrorCode::kInvalid,
                 "geometric means are no importance weights; use token, turn or sequence");
    }
  }
  if (!(options.veto >= 0))
    return Err(ErrorCode::kInvalid, "veto is {}; 0 turns it off", options.veto);
  if (options.band_lower != 0 || options.band_upper != 0) {
    ASSAY_RETURN_IF_ERROR(CheckBounds("band", options.band_lower, options.band_upper));
  }
  return {};
}

/// The decisions of one call, before any of them is written.
struct Verdicts {
  std::vector<TokenState> row_reasons;  // for every population token of the row
  bool tokens = false;                  // some rule works token by token
  double masked_tokens = 0;             // by the rejection
  double masked_rows = 0;
};

class Correction {
 public:
  Correction(const Index& index, std::vector<RowScan> scans, const MismatchOptions& options)
      : index_(index), scans_(std::move(scans)), options_(options) {}

  Verdicts Decide(Metrics& out) {
    verdicts_.row_reasons.assign(scans_.size(), 0);
    for (const RowScan& scan : scans_) {
      population_ += static_cast<double>(scan.n);
      rows_ += scan.n > 0 ? 1 : 0;
    }
    AddDivergenceMetrics(scans_, out);
    Reject(out);
    Weigh(out);
    Veto(out);
    Band(out);
    return std::move(verdicts_);
  }

 private:
  void Apply(std::vector<uint8_t>& cause, Scope scope, Reason reason) {
    Spread(index_, scope, cause);
    for (size_t row = 0; row < cause.size(); ++row) {
      if (cause[row] != 0) verdicts_.row_reasons[row] |= reason;
    }
  }

  void Reject(Metrics& out) {
    if (!options_.rejection) return;
    const Rejection& r = *options_.rejection;
    AddWeightMetrics("rollout_rs_", index_, scans_, r.level, 0, r.lower, r.upper, out);
    std::vector<uint8_t> cause(scans_.size(), 0);
    if (r.level == Level::kToken) {
      for (size_t row = 0; row < cause.size(); ++row) {
        cause[row] = scans_[row].limited[0].above + scans_[row].limited[0].below > 0 ? 1 : 0;
      }
    } else {
      const std::vector<double> log_weight = AggregateRows(index_, scans_, r.level);
      for (size_t row = 0; row < cause.size(); ++row) {
        const double w = LimitedWeight(log_weight[row]);
        cause[row] = w < r.lower || w > r.upper ? 1 : 0;
      }
    }
    const Scope scope = r.scope.value_or(NaturalScope(r.level));
    if (scope == Scope::kToken) {
      verdicts_.tokens = true;
    } else {
      Apply(cause, scope, kMismatch);
    }
    double tokens = 0;
    double rows = 0;
    for (size_t row = 0; row < cause.size(); ++row) {
      if (cause[row] == 0 || scans_[row].n == 0) continue;
      const RowScan::Limited& limited = scans_[row].limited[0];
      rows += 1;
      tokens += static_cast<double>(scope == Scope::kToken ? limited.above + limited.below
                                                           : scans_[row].n);
    }
    out.emplace_back("rollout_rs_masked_fraction", Share(tokens, population_));
    out.emplace_back("rollout_rs_seq_masked_fraction", Share(rows, rows_));
  }

  void Weigh(Metrics& out) {
    if (!options_.importance) return;
    const double upper = options_.importance->upper;
    AddWeightMetrics("rollout_is_", index_, scans_, options_.importance->level, 1, 1.0 / upper,
                     upper, out);
  }

  void Veto(Metrics& out) {
    double tokens = 0;
    double rows = 0;
    if (options_.veto > 0) {
      std::vector<uint8_t> cause(scans_.size(), 0);
      for (size_t row = 0; row < cause.size(); ++row) {
        cause[row] = scans_[row].catastrophic > 0 ? 1 : 0;
        rows += cause[row];
        tokens += static_cast<double>(scans_[row].catastrophic);
      }
      if (options_.veto_scope == Scope::kToken) {
        verdicts_.tokens = true;
      } else {
        Apply(cause, options_.veto_scope, kVeto);
      }
    }
    out.emplace_back("rollout_is_veto_fraction", Share(rows, rows_));
    out.emplace_back("rollout_is_catastrophic_token_fraction", Share(tokens, population_));
  }

  void Band(Metrics& out) {
    if (options_.band_upper == 0) return;
    verdicts_.tokens = true;
    double tokens = 0;
    for (const RowScan& scan : scans_) tokens += static_cast<double>(scan.outside_band);
    out.emplace_back("rollout_band_masked_fraction", Share(tokens, population_));
  }

  const Index& index_;
  const std::vector<RowScan> scans_;
  const MismatchOptions& options_;
  Verdicts verdicts_;
  double population_ = 0;
  double rows_ = 0;
};

ScanBounds BoundsOf(const MismatchOptions& options) {
  ScanBounds bounds;
  bounds.clamp_upper[0] = bounds.clamp_upper[1] = kInfinity;
  if (options.rejection) {
    bounds.clamp_lower[0] = options.rejection->lower;
    bounds.clamp_upper[0] = options.rejection->upper;
  }
  if (options.importance) {
    bounds.clamp_lower[1] = 1.0 / options.importance->upper;
    bounds.clamp_upper[1] = options.importance->upper;
  }
  if (options.veto > 0) bounds.log_veto = std::log(options.veto);
  if (options.band_upper > 0) {
    bounds.band_lower = options.band_lower;
    bounds.band_upper = options.band_upper;
  }
  return bounds;
}

std::vector<int64_t> PopulationTokens(std::span<const int64_t> offsets,
                                      std::span<const TokenState> state) {
  std::vector<int64_t> counts(offsets.size() - 1);
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      counts[row] = std::count_if(state.begin() + offsets[row], state.begin() + offsets[row + 1],
                                  InPopulation);
    }
  });
  return counts;
}

/// Importance weights of an aggregated level, one per row.
template <typename T>
void RowWeights(const Tokens<T>& tokens, std::span<const TokenState> state,
                std::span<const double> log_weight, double upper, std::span<T> weights) {
  ForRows(tokens.offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const T weight = static_cast<T>(std::min(LimitedWeight(log_weight[row]), upper));
      for (auto j = static_cast<size_t>(tokens.offsets[row]);
           j < static_cast<size_t>(tokens.offsets[row + 1]); ++j) {
        weights[j] = InPopulation(state[j]) ? weight : T{0};
      }
    }
  });
}

}  // namespace

Result<Level> FindLevel(std::string_view name) {
  if (name == "token") return Level::kToken;
  if (name == "turn") return Level::kTurn;
  if (name == "turn_geo") return Level::kTurnGeometric;
  if (name == "sequence") return Level::kSequence;
  if (name == "geometric") return Level::kGeometric;
  return Err(ErrorCode::kInvalid, "no level '{}'; use token, turn, turn_geo, sequence or geometric",
             name);
}

Result<Scope> FindScope(std::string_view name) {
  if (name == "token") return Scope::kToken;
  if (name == "turn") return Scope::kTurn;
  if (name == "suffix") return Scope::kSuffix;
  if (name == "trajectory") return Scope::kTrajectory;
  return Err(ErrorCode::kInvalid, "no scope '{}'; use token, turn, suffix or trajectory", name);
}

template <typename T>
Result<Metrics> CorrectMismatch(const Index& index, const Tokens<T>& tokens,
                                const MismatchOptions& options, std::span<TokenState> state,
                                std::span<T> weights) {
  ASSAY_RETURN_IF_ERROR(CheckTokens(index, tokens, state));
  ASSAY_RETURN_IF_ERROR(CheckOptions(index, options, state.size(), weights.size()));
  const ScanBounds bounds = BoundsOf(options);
  const bool token_rejection = options.rejection && options.rejection->level == Level::kToken;
  const bool token_importance = options.importance && options.importance->level == Level::kToken;
  std::vector<RowScan> scans =
      ScanRows(tokens, state, bounds, token_rejection || token_importance ? 2 : 0);
  ASSAY_RETURN_IF_ERROR(CheckScans(scans));

  if (token_importance) {
    TokenWeights(tokens, std::span<const TokenState>(state), options.importance->upper, weights);
  } else if (options.importance) {
    RowWeights(tokens, std::span<const TokenState>(state),
               AggregateRows(index, scans, options.importance->level), options.importance->upper,
               weights);
  }
  Metrics metrics;
  const Verdicts verdicts = Correction(index, std::move(scans), options).Decide(metrics);
  if (verdicts.tokens) {
    const bool alone =
        token_rejection && options.rejection->scope.value_or(Scope::kToken) == Scope::kToken;
    RejectTokens(tokens, bounds, alone, options.veto > 0 && options.veto_scope == Scope::kToken,
                 state);
  }
  RejectRows(tokens.offsets, verdicts.row_reasons, true, state);
  return metrics;
}

template <typename T>
Result<std::vector<double>> LogRatios(const Index& index, const Tokens<T>& tokens,
                                      std::span<const TokenState> state, Level level) {
  ASSAY_RETURN_IF_ERROR(CheckTokens(index, tokens, state));
  if (level == Level::kToken) {
    return Err(ErrorCode::kInvalid,
               "token ratios are the difference of the inputs; use another level");
  }
  const std::vector<RowScan> scans = ScanRows(tokens, state, ScanBounds(), 0);
  ASSAY_RETURN_IF_ERROR(CheckScans(scans));
  return AggregateRows(index, scans, level);
}

template <typename T>
Result<Rejection> RejectionForRate(const Index& index, const Tokens<T>& tokens,
                                   std::span<const TokenState> state, Level level, double rate) {
  if (!(rate >= 0 && rate <= 1)) {
    return Err(ErrorCode::kInvalid, "rate is {}; it must be in [0, 1]", rate);
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<double> ratios, LogRatios(index, tokens, state, level));
  const std::vector<int64_t> population = PopulationTokens(tokens.offsets, state);
  std::vector<double> sizes;
  for (size_t t = 0; t < index.trajectories(); ++t) {
    bool any = false;
    for (const uint32_t row : index.turns_of(t)) {
      if (population[row] == 0) continue;
      if (IsTurnLevel(level) || !any) sizes.push_back(std::abs(ratios[row]));
      any = true;
    }
  }
  if (sizes.empty())
    return Err(ErrorCode::kInvalid, "the batch has no response token but of void turns");
  std::ranges::sort(sizes);
  const auto kept =
      static_cast<size_t>(std::ceil((1.0 - rate) * static_cast<double>(sizes.size())));
  const double q = std::min(kSafety, kept == 0 ? 0.0 : sizes[kept - 1]);
  // One part in 1e12 wider, so that the quantile itself is inside after exp and division.
  const double upper = std::exp(q) * (1.0 + 1e-12);
  return Rejection{level, 1.0 / upper, upper, std::nullopt};
}

#define ASSAY_INSTANTIATE(T)                                                                 \
  template Result<Metrics> CorrectMismatch<T>(const Index&, const Tokens<T>&,                \
                                              const MismatchOptions&, std::span<TokenState>, \
                                              std::span<T>);                                 \
  template Result<std::vector<double>> LogRatios<T>(const Index&, const Tokens<T>&,          \
                                                    std::span<const TokenState>, Level);     \
  template Result<Rejection> RejectionForRate<T>(const Index&, const Tokens<T>&,             \
                                                 std::span<const TokenState>, Level, double);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::rl
