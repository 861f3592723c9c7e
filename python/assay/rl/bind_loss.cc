#include "bridge.h"
#include "rl/loss.h"
#include "rl/reward.h"

namespace assay::python {
namespace {

template <typename T>
void BindTokens(nb::module_& m) {
  m.def(
      "policy_loss",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<T>& logp,
         const Maybe<T>& logp_old, const Maybe<double>& row_advantage,
         const Maybe<T>& token_advantage, const Maybe<T>& weights, const Maybe<T>& entropy,
         const Maybe<T>& logp_reference, const std::string& kind, double clip_low, double clip_high,
         double dual_clip, const std::string& aggregation, double scale, double norm_length,
         double entropy_quantile, double risk_probability, double kl_coefficient,
         const std::string& kl_kind, double entropy_coefficient,
         const std::optional<Out<T>>& gradient, const std::optional<Out<T>>& entropy_gradient) {
        const rl::LossOptions options{Take(rl::FindLossKind(kind)),
                                      clip_low,
                                      clip_high,
                                      dual_clip,
                                      Take(rl::FindAggregation(aggregation)),
                                      scale,
                                      norm_length,
                                      entropy_quantile,
                                      risk_probability,
                                      kl_coefficient,
                                      Take(rl::FindKlKind(kl_kind)),
                                      entropy_coefficient};
        const rl::LossInputs<T> inputs{View(offsets),  View(state),         View(logp),
                                       View(logp_old), View(row_advantage), View(token_advantage),
                                       View(weights),  View(entropy),       View(logp_reference)};
        const rl::Loss loss = Take(Unlocked([&] {
          return rl::PolicyLoss<T>(inputs, options, gradient ? View(*gradient) : std::span<T>(),
                                   entropy_gradient ? View(*entropy_gradient) : std::span<T>());
        }));
        return nb::make_tuple(loss.value, Give(loss.metrics));
      },
      "offsets"_a, "state"_a, "logp"_a.noconvert(), "logp_old"_a.none().noconvert(),
      "row_advantage"_a.none(), "token_advantage"_a.none().noconvert(),
      "weights"_a.none().noconvert(), "entropy"_a.none().noconvert(),
      "logp_reference"_a.none().noconvert(), "kind"_a, "clip_low"_a, "clip_high"_a, "dual_clip"_a,
      "aggregation"_a, "scale"_a, "norm_length"_a, "entropy_quantile"_a, "risk_probability"_a,
      "kl_coefficient"_a, "kl_kind"_a, "entropy_coefficient"_a, "gradient"_a.none().noconvert(),
      "entropy_gradient"_a.none().noconvert());
  m.def(
      "kl_per_row",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<T>& logp,
         const In<T>& logp_reference, const std::string& kind) {
        const rl::KlKind of = Take(rl::FindKlKind(kind));
        return Give(Take(Unlocked([&] {
          return rl::KlPerRow<T>(View(offsets), View(state), View(logp), View(logp_reference), of);
        })));
      },
      "offsets"_a, "state"_a, "logp"_a.noconvert(), "logp_reference"_a.noconvert(), "kind"_a);
}

rl::Evaluation EvaluationFrom(bool completed, bool compiled, bool correct, bool decoy,
                              std::optional<double> speedup, double own_kernels, double all_kernels,
                              double own_time_us, double all_time_us) {
  return {completed,   compiled,    correct,     decoy,      speedup,
          own_kernels, all_kernels, own_time_us, all_time_us};
}

void BindRewards(nb::module_& m) {
  m.def(
      "coverage",
      [](double own_kernels, double all_kernels, double own_time_us, double all_time_us,
         const std::string& type) {
        return rl::Coverage(EvaluationFrom(true, true, true, false, {}, own_kernels, all_kernels,
                                           own_time_us, all_time_us),
                            Take(rl::FindCoverageType(type)));
      },
      "own_kernels"_a, "all_kernels"_a, "own_time_us"_a, "all_time_us"_a, "type"_a);
  m.def(
      "reward",
      [](const std::string& name, bool completed, bool compiled, bool correct, bool decoy,
         std::optional<double> speedup, double own_kernels, double all_kernels, double own_time_us,
         double all_time_us, double correct_weight, double performance_weight, double penalty,
         double speedup_epsilon, double speedup_upper, double speedup_lower, bool coverage,
         double coverage_weight, const std::string& coverage_type, bool round_coverage,
         double compilation_fail, double correctness_fail, double slower) {
        const rl::RewardOptions options{
            correct_weight,  performance_weight, penalty,
            speedup_epsilon, speedup_upper,      speedup_lower,
            coverage,        coverage_weight,    Take(rl::FindCoverageType(coverage_type)),
            round_coverage,  compilation_fail,   correctness_fail,
            slower};
        const rl::Reward reward = Take(
            rl::ComputeReward(Take(rl::FindRewardFunction(name)),
                              EvaluationFrom(completed, compiled, correct, decoy, speedup,
                                             own_kernels, all_kernels, own_time_us, all_time_us),
                              options));
        return nb::make_tuple(reward.value, reward.correctness, reward.performance,
                              reward.coverage);
      },
      "name"_a, nb::kw_only(), "completed"_a, "compiled"_a, "correct"_a, "decoy"_a,
      "speedup"_a.none(), "own_kernels"_a, "all_kernels"_a, "own_time_us"_a, "all_time_us"_a,
      "correct_weight"_a, "performance_weight"_a, "penalty"_a, "speedup_epsilon"_a,
      "speedup_upper"_a, "speedup_lower"_a, "coverage"_a, "coverage_weight"_a, "coverage_type"_a,
      "round_coverage"_a, "compilation_fail"_a, "correctness_fail"_a, "slower"_a);
}

}  // namespace

void BindLosses(nb::module_& m) {
  BindTokens<float>(m);
  BindTokens<double>(m);
  BindRewards(m);
}

}  // namespace assay::python
