#include "rl/loss.h"

#include <algorithm>
#include <cmath>

#include "rl/mismatch.h"
#include "rl/parallel.h"

namespace assay::rl {
namespace {

/// A value and its derivative with respect to the current log-probability.
struct Term {
  double value = 0;
  double slope = 0;
};

Term Kl(KlKind kind, double delta) {
  switch (kind) {
    case KlKind::kDelta:
      return {delta, 1.0};
    case KlKind::kAbsolute:
      return {std::abs(delta), delta > 0 ? 1.0 : (delta < 0 ? -1.0 : 0.0)};
    case KlKind::kSquare:
      return {0.5 * delta * delta, delta};
    case KlKind::kLowVar:
      break;
  }
  constexpr double kLimit = 10.0;
  const double e = std::exp(std::clamp(-delta, -kSafety, kSafety));
  const double value = e + delta - 1.0;
  if (std::abs(value) > kLimit) return {std::clamp(value, -kLimit, kLimit), 0.0};
  return {value, 1.0 - e};
}

enum class Clipped { kNo, kUpper, kLower, kDual };

struct Surrogate {
  Term term;
  Clipped clipped = Clipped::kNo;
};

Surrogate Clip(double advantage, double log_ratio, const LossOptions& options, double dual_clip) {
  const double limited = std::clamp(log_ratio, -kSafety, kSafety);
  const double q = std::exp(limited);
  // At the safety limits the ratio is constant.
  const double slope = limited == log_ratio ? -advantage * q : 0.0;
  if (advantage < 0 && dual_clip > 0 && q > dual_clip) {
    return {{-advantage * dual_clip, 0.0}, Clipped::kDual};
  }
  if (advantage > 0 && q > 1.0 + options.clip_high) {
    return {{-advantage * (1.0 + options.clip_high), 0.0}, Clipped::kUpper};
  }
  if (advantage < 0 && q < 1.0 - options.clip_low) {
    return {{-advantage * (1.0 - options.clip_low), 0.0}, Clipped::kLower};
  }
  return {{-advantage * q, slope}, Clipped::kNo};
}

/// What one row contributes.
struct RowSums {
  int64_t n = 0;  // tokens in the denominators
  double policy = 0;
  double kl = 0;
  double entropy = 0;
  double log_ratio = 0;
  int64_t clipped[4] = {};
  int64_t risky = 0;
};

template <typename T>
class Evaluator {
 public:
  Evaluator(const LossInputs<T>& in, const LossOptions& options, std::span<T> gradient,
            std::span<T> entropy_gradient)
      : in_(in),
        options_(options),
        gradient_(gradient),
        entropy_gradient_(entropy_gradient),
        rows_(in.offsets.size() - 1) {}

  Loss Run() {
    std::ranges::fill(gradient_, T{0});
    std::ranges::fill(entropy_gradient_, T{0});
    FindEntropyFloor();
    Count();
    std::vector<RowSums> sums(rows_);
    ForRows(in_.offsets, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        sums[row].n = tokens_[row];
        if (tokens_[row] == 0) continue;
        if (options_.kind == LossKind::kGspo) {
          SequenceRow(row, sums[row]);
        } else {
          TokenRow(row, sums[row]);
        }
        if (options_.entropy_coefficient != 0) EntropyRow(row, sums[row]);
      }
    });
    return Total(sums);
  }

 private:
  [[nodiscard]] size_t Begin(size_t row) const { return static_cast<size_t>(in_.offsets[row]); }
  [[nodiscard]] size_t End(size_t row) const { return static_cast<size_t>(in_.offsets[row + 1]); }

  [[nodiscard]] bool Counts(size_t j) const {
    return (in_.state[j] & kTrained) != 0 &&
           (options_.entropy_quantile == 0 || static_cast<double>(in_.entropy[j]) > entropy_floor_);
  }

  [[nodiscard]] double AdvantageAt(size_t row, size_t j) const {
    return in_.row_advantage.empty() ? static_cast<double>(in_.token_advantage[j])
                                     : in_.row_advantage[row];
  }

  void FindEntropyFloor() {
    if (options_.entropy_quantile == 0) return;
    std::vector<T> values;
    for (size_t j = 0; j < in_.state.size(); ++j) {
      if ((in_.state[j] & kTrained) != 0) values.push_back(in_.entropy[j]);
    }
    trained_before_ = static_cast<double>(values.size());
    if (values.empty()) return;
    const double position = options_.entropy_quantile * (trained_before_ - 1);
    const auto low = static_cast<size_t>(position);
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(low);
    std::ranges::nth_element(values, nth);
    const auto at = static_cast<double>(*nth);
    const double next = nth + 1 == values.end()
                            ? at
                            : static_cast<double>(*std::min_element(nth + 1, values.end()));
    entropy_floor_ = at + (position - static_cast<double>(low)) * (next - at);
  }

  void Count() {
    tokens_.resize(rows_);
    int64_t longest = 0;
    for (size_t row = 0; row < rows_; ++row) {
      longest = std::max(longest, in_.offsets[row + 1] - in_.offsets[row]);
    }
    ForRows(in_.offsets, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        for (size_t j = Begin(row); j < End(row); ++j) tokens_[row] += Counts(j) ? 1 : 0;
      }
    });
    for (const int64_t n : tokens_) {
      total_tokens_ += static_cast<double>(n);
      total_rows_ += n > 0 ? 1 : 0;
    }
    norm_length_ = options_.norm_length > 0 ? options_.norm_length : static_cast<double>(longest);
  }

  /// What a token's loss is multiplied by on its way into the total.
  [[nodiscard]] double Coefficient(size_t row) const {
    switch (options_.aggregation) {
      case Aggregation::kTokenMean:
        return 1.0 / (total_tokens_ * options_.scale);
      case Aggregation::kSeqMeanTokenSum:
        return 1.0 / (total_rows_ * options_.scale);
      case Aggregation::kSeqMeanTokenMean:
        return 1.0 / (total_rows_ * static_cast<double>(tokens_[row]) * options_.scale);
      case Aggregation::kSeqMeanTokenSumNorm:
        return 1.0 / (norm_length_ * options_.scale);
      case Aggregation::kSeqSumNoNorm:
        break;
    }
    return 1.0 / options_.scale;
  }

  Term TokenTerm(size_t row, size_t j, RowSums& sums) const {
    const double advantage = AdvantageAt(row, j);
    const auto logp = static_cast<double>(in_.logp[j]);
    Term term;
    if (options_.kind == LossKind::kReinforce) {
      term = {-advantage * logp, -advantage};
    } else {
      const double log_ratio = logp - static_cast<double>(in_.logp_old[j]);
      const Surrogate surrogate = Clip(advantage, log_ratio, options_, options_.dual_clip);
      sums.log_ratio += log_ratio;
      ++sums.clipped[static_cast<size_t>(surrogate.clipped)];
      term = surrogate.term;
    }
    if (options_.risk_probability > 0 && advantage < 0 &&
        static_cast<double>(in_.logp_old[j]) < std::log(options_.risk_probability)) {
      ++sums.risky;
      term = {};
    }
    if (!in_.weights.empty()) {
      const auto weight = static_cast<double>(in_.weights[j]);
      term.value *= weight;
      term.slope *= weight;
    }
    return term;
  }

  void TokenRow(size_t row, RowSums& sums) {
    const double coefficient = Coefficient(row);
    for (size_t j = Begin(row); j < End(row); ++j) {
      if (!Counts(j)) continue;
      const Term term = TokenTerm(row, j, sums);
      const Term kl = KlTerm(j);
      sums.policy += term.value * coefficient;
      sums.kl += kl.value * coefficient;
      if (!gradient_.empty()) {
        gradient_[j] =
            static_cast<T>((term.slope + options_.kl_coefficient * kl.slope) * coefficient);
      }
    }
  }

  [[nodiscard]] Term KlTerm(size_t j) const {
    if (options_.kl_coefficient == 0) return {};
    return Kl(options_.kl_kind,
              static_cast<double>(in_.logp[j]) - static_cast<double>(in_.logp_reference[j]));
  }

  void EntropyRow(size_t row, RowSums& sums) {
    const double coefficient = Coefficient(row);
    for (size_t j = Begin(row); j < End(row); ++j) {
      if (!Counts(j)) continue;
      sums.entropy += static_cast<double>(in_.entropy[j]) * coefficient;
      if (!entropy_gradient_.empty()) {
        entropy_gradient_[j] = static_cast<T>(-options_.entropy_coefficient * coefficient);
      }
    }
  }

  void SequenceRow(size_t row, RowSums& sums) {
    size_t first = End(row);
    double log_ratio = 0;
    for (size_t j = Begin(row); j < End(row); ++j) {
      if (!Counts(j)) continue;
      first = std::min(first, j);
      log_ratio += static_cast<double>(in_.logp[j]) - static_cast<double>(in_.logp_old[j]);
    }
    const auto n = static_cast<double>(tokens_[row]);
    sums.log_ratio = log_ratio;
    const Surrogate surrogate = Clip(AdvantageAt(row, first), log_ratio / n, options_, 0.0);
    sums.clipped[static_cast<size_t>(surrogate.clipped)] = tokens_[row];
    sums.policy = surrogate.term.value / total_rows_;
    const double kl_coefficient = Coefficient(row);
    for (size_t j = Begin(row); j < End(row); ++j) {
      if (!Counts(j)) continue;
      const Term kl = KlTerm(j);
      sums.kl += kl.value * kl_coefficient;
      if (!gradient_.empty()) {
        gradient_[j] = static_cast<T>(surrogate.term.slope / (n * total_rows_) +
                                      options_.kl_coefficient * kl.slope * kl_coefficient);
      }
    }
  }

  Loss Total(std::span<const RowSums> rows) const {
    RowSums total;
    for (const RowSums& row : rows) {
      total.policy += row.policy;
      total.kl += row.kl;
      total.entropy += row.entropy;
      total.log_ratio += row.log_ratio;
      total.risky += row.risky;
      for (size_t k = 0; k < std::size(total.clipped); ++k) total.clipped[k] += row.clipped[k];
    }
    const auto share = [&](double part) { return total_tokens_ == 0 ? 0.0 : part / total_tokens_; };
    const auto clipped = [&](Clipped kind) {
      return share(static_cast<double>(total.clipped[static_cast<size_t>(kind)]));
    };
    Loss loss;
    loss.value = total.policy + options_.kl_coefficient * total.kl -
                 options_.entropy_coefficient * total.entropy;
    loss.metrics = {{"pg_loss", total.policy},
                    {"kl_loss", total.kl},
                    {"entropy_loss", total.entropy},
                    {"ppo_kl", share(-total.log_ratio)},
                    {"clip_fraction",
                     clipped(Clipped::kUpper) + clipped(Clipped::kLower) + clipped(Clipped::kDual)},
                    {"clip_fraction_upper", clipped(Clipped::kUpper)},
                    {"clip_fraction_lower", clipped(Clipped::kLower)},
                    {"clip_fraction_dual", clipped(Clipped::kDual)},
                    {"trained_tokens", total_tokens_},
                    {"trained_rows", total_rows_},
                    {"entropy_filtered_fraction",
                     trained_before_ == 0 ? 0.0 : 1.0 - total_tokens_ / trained_before_},
                    {"risk_fraction", share(static_cast<double>(total.risky))}};
    return loss;
  }

  const LossInputs<T>& in_;
  const LossOptions& options_;
  std::span<T> gradient_;
  std::span<T> entropy_gradient_;
  size_t rows_;
  double entropy_floor_ = 0;
  double trained_before_ = 0;
  std::vector<int64_t> tokens_;  // per row, in the denominators
  double total_tokens_ = 0;
  double total_rows_ = 0;
  double norm_length_ = 0;
};

template <typename T>
Status CheckLoss(const LossInputs<T>& in, const LossOptions& options, size_t gradient) {
  const size_t n = in.state.size();
  if (in.offsets.empty())
    return Err(ErrorCode::kInvalid, "offsets is empty; it needs rows + 1 entries");
  const size_t rows = in.offsets.size() - 1;
  ASSAY_RETURN_IF_ERROR(CheckOffsets(in.offsets, rows, n));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp", in.logp.size(), n));
  const bool needs_old = options.kind != LossKind::kReinforce || options.risk_probability > 0;
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_old", in.logp_old.size(), n, !needs_old));
  if (in.row_advantage.empty() == in.token_advantage.empty() && rows > 0) {
    return Err(ErrorCode::kInvalid, "give either one advantage per row or one per token");
  }
  ASSAY_RETURN_IF_ERROR(CheckSize("advantage", in.row_advantage.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("token advantage", in.token_advantage.size(), n, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("weights", in.weights.size(), n, true));
  const bool needs_entropy = options.entropy_quantile != 0 || options.entropy_coefficient != 0;
  ASSAY_RETURN_IF_ERROR(CheckSize("entropy", in.entropy.size(), n, !needs_entropy));
  ASSAY_RETURN_IF_ERROR(
      CheckSize("logp_reference", in.logp_reference.size(), n, options.kl_coefficient == 0));
  ASSAY_RETURN_IF_ERROR(CheckSize("gradient", gradient, n, true));
  if (!(options.clip_low >= 0 && options.clip_low <= 1 && options.clip_high >= 0)) {
    return Err(ErrorCode::kInvalid, "clip_low {} must be in [0, 1] and clip_high {} >= 0",
               options.clip_low, options.clip_high);
  }
  if (options.dual_clip != 0 && !(options.dual_clip > 1)) {
    return Err(ErrorCode::kInvalid, "dual_clip is {}; it must be above 1, or 0 for none",
               options.dual_clip);
  }
  if (!(options.scale > 0))
    return Err(ErrorCode::kInvalid, "scale is {}; it must be positive", options.scale);
  if (!(options.entropy_quantile >= 0 && options.entropy_quantile <= 1)) {
    return Err(ErrorCode::kInvalid, "entropy_quantile is {}; it must be in [0, 1]",
               options.entropy_quantile);
  }
  if (!(options.risk_probability >= 0 && options.risk_probability <= 1)) {
    return Err(ErrorCode::kInvalid, "risk_probability is {}; it must be in [0, 1], 0 turns it off",
               options.risk_probability);
  }
  if (!(options.norm_length >= 0)) {
    return Err(ErrorCode::kInvalid, "norm_length is {}; it must be >= 0, 0 is the longest row",
               options.norm_length);
  }
  return {};
}

}  // namespace

Result<LossKind> FindLossKind(std::string_view name) {
  if (name == "ppo") return LossKind::kPpo;
  if (name == "gspo") return LossKind::kGspo;
  if (name == "reinforce") return LossKind::kReinforce;
  return Err(ErrorCode::kInvalid, "no loss '{}'; use ppo, gspo or reinforce", name);
}

Result<Aggregation> FindAggregation(std::string_view name) {
  if (name == "token-mean") return Aggregation::kTokenMean;
  if (name == "seq-mean-token-sum") return Aggregation::kSeqMeanTokenSum;
  if (name == "seq-mean-token-mean") return Aggregation::kSeqMeanTokenMean;
  if (name == "seq-mean-token-sum-norm") return Aggregation::kSeqMeanTokenSumNorm;
  if (name == "seq-sum-no-norm") return Aggregation::kSeqSumNoNorm;
  return Err(ErrorCode::kInvalid,
             "no aggregation '{}'; use token-mean, seq-mean-token-sum, seq-mean-token-mean, "
             "seq-mean-token-sum-norm or seq-sum-no-norm",
             name);
}

Result<KlKind> FindKlKind(std::string_view name) {
  if (name == "kl") return KlKind::kDelta;
  if (name == "abs") return KlKind::kAbsolute;
  if (name == "mse") return KlKind::kSquare;
  if (name == "low_var_kl") return KlKind::kLowVar;
  return Err(ErrorCode::kInvalid, "no KL estimator '{}'; use kl, abs, mse or low_var_kl", name);
}

template <typename T>
Result<Loss> PolicyLoss(const LossInputs<T>& inputs, const LossOptions& options,
                        std::span<T> gradient, std::span<T> entropy_gradient) {
  ASSAY_RETURN_IF_ERROR(CheckLoss(inputs, options, gradient.size()));
  ASSAY_RETURN_IF_ERROR(
      CheckSize("entropy gradient", entropy_gradient.size(), inputs.state.size(), true));
  return Evaluator<T>(inputs, options, gradient, entropy_gradient).Run();
}

template <typename T>
Result<std::vector<double>> KlPerRow(std::span<const int64_t> offsets,
                                     std::span<const TokenState> state, std::span<const T> logp,
                                     std::span<const T> logp_reference, KlKind kind) {
  if (offsets.empty())
    return Err(ErrorCode::kInvalid, "offsets is empty; it needs rows + 1 entries");
  ASSAY_RETURN_IF_ERROR(CheckOffsets(offsets, offsets.size() - 1, state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp", logp.size(), state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_reference", logp_reference.size(), state.size()));
  std::vector<double> sums(offsets.size() - 1, 0.0);
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      for (auto j = static_cast<size_t>(offsets[row]); j < static_cast<size_t>(offsets[row + 1]);
           ++j) {
        if (!InPopulation(state[j])) continue;
        sums[row] +=
            Kl(kind, static_cast<double>(logp[j]) - static_cast<double>(logp_reference[j])).value;
      }
    }
  });
  return sums;
}

#define ASSAY_INSTANTIATE(T)                                                                  \
  template Result<Loss> PolicyLoss<T>(const LossInputs<T>&, const LossOptions&, std::span<T>, \
                                      std::span<T>);                                          \
  template Result<std::vector<double>> KlPerRow<T>(                                           \
      std::span<const int64_t>, std::span<const TokenState>, std::span<const T>,              \
      std::span<const T>, KlKind);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::rl
