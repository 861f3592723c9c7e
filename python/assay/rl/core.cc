// The bridge between NumPy or torch memory and src/rl: argument conversion and nothing else. The
// documented interface is the Python package around it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl/advantage.h"
#include "rl/batch.h"
#include "rl/evaluation.h"
#include "rl/filter.h"
#include "rl/loss.h"
#include "rl/mismatch.h"
#include "rl/monitor.h"
#include "rl/parallel.h"
#include "rl/random.h"
#include "rl/returns.h"
#include "rl/reward.h"
#include "rl/sampling.h"
#include "rl/token_advantage.h"
#include "rl/token_state.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace rl = assay::rl;

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Maybe = std::optional<In<T>>;
template <typename T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<1>>;

template <typename T>
std::span<const T> View(const In<T>& array) {
  return {array.data(), array.size()};
}
template <typename T>
std::span<const T> View(const Maybe<T>& array) {
  return array ? View(*array) : std::span<const T>();
}
template <typename T>
std::span<T> View(const Out<T>& array) {
  return {array.data(), array.size()};
}

template <typename T>
Array<T> Give(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(owned->data(), {owned->size()}, owner);
}

nb::dict Give(const rl::Metrics& metrics) {
  nb::dict out;
  for (const auto& [name, value] : metrics) out[name.c_str()] = value;
  return out;
}

nb::tuple Give(const rl::Interval& interval) {
  return nb::make_tuple(interval.value, interval.low, interval.high);
}

void Check(const assay::Status& status) {
  if (!status.ok()) throw nb::value_error(status.error().message.c_str());
}

template <typename T>
T Take(assay::Result<T> result) {
  if (!result.ok()) throw nb::value_error(result.error().message.c_str());
  return *std::move(result);
}

/// Runs `work` without the interpreter lock and hands on its Result.
template <typename Work>
auto Unlocked(const Work& work) {
  nb::gil_scoped_release release;
  return work();
}

/// The row arrays of a batch with their index.
class Batch {
 public:
  Batch(In<int64_t> group, In<int64_t> trajectory, In<int64_t> turn, Maybe<double> reward,
        Maybe<uint8_t> keep)
      : group_(std::move(group)),
        trajectory_(std::move(trajectory)),
        turn_(std::move(turn)),
        reward_(std::move(reward)),
        keep_(std::move(keep)),
        rows_{View(group_), View(trajectory_), View(turn_), View(reward_), View(keep_)},
        index_(Take(rl::Index::Build(rows_))) {}

  [[nodiscard]] const rl::Rows& rows() const { return rows_; }
  [[nodiscard]] const rl::Index& index() const { return index_; }

 private:
  In<int64_t> group_;
  In<int64_t> trajectory_;
  In<int64_t> turn_;
  Maybe<double> reward_;
  Maybe<uint8_t> keep_;
  rl::Rows rows_;
  rl::Index index_;
};

rl::ReturnOptions ReturnsFrom(const std::string& kind, double gamma, bool shaping, bool unbiased) {
  return {Take(rl::FindReturnKind(kind)), gamma, shaping, unbiased};
}

void BindBatch(nb::module_& m) {
  nb::class_<Batch>(m, "Batch")
      .def(nb::init<In<int64_t>, In<int64_t>, In<int64_t>, Maybe<double>, Maybe<uint8_t>>(),
           "group"_a, "trajectory"_a, "turn"_a, "reward"_a.none() = nb::none(),
           "keep"_a.none() = nb::none())
      .def_prop_ro("rows", [](const Batch& b) { return b.index().rows(); })
      .def_prop_ro("trajectories", [](const Batch& b) { return b.index().trajectories(); })
      .def_prop_ro("groups", [](const Batch& b) { return b.index().groups(); });

  m.def(
      "returns",
      [](const Batch& batch, const std::string& kind, double gamma, bool shaping, bool unbiased) {
        std::vector<double> out(batch.index().rows());
        Check(rl::Returns(batch.index(), batch.rows(), ReturnsFrom(kind, gamma, shaping, unbiased),
                          out));
        return Give(std::move(out));
      },
      "batch"_a, "kind"_a, "gamma"_a, "shaping"_a, "unbiased_shaping"_a);

  m.def(
      "void_turns",
      [](const Batch& batch, const Maybe<uint8_t>& failed, bool mask_void_turn) {
        std::vector<uint8_t> keep(batch.index().rows());
        Check(rl::VoidTurns(batch.index(), batch.rows().reward, View(failed), mask_void_turn, keep));
        return Give(std::move(keep));
      },
      "batch"_a, "failed"_a.none(), "mask_void_turn"_a);
}

void BindAdvantages(nb::module_& m) {
  m.def(
      "advantages",
      [](const Batch& batch, const std::string& name, const std::string& kind, double gamma,
         bool shaping, bool unbiased, const std::string& single, const Maybe<uint8_t>& trained,
         const Maybe<double>& weight, const Maybe<double>& baseline) {
        rl::Estimator estimator = Take(rl::FindEstimator(name));
        if (single == "raw") {
          estimator.single = rl::Estimator::Single::kRaw;
        } else if (single == "zero") {
          estimator.single = rl::Estimator::Single::kZero;
        } else if (single == "turn_mean") {
          estimator.single = rl::Estimator::Single::kTurnMean;
        } else if (!single.empty()) {
          throw nb::value_error("single must be 'raw', 'zero' or 'turn_mean'");
        }
        auto result = Take(rl::ComputeAdvantages(batch.index(), batch.rows(), estimator,
                                                 ReturnsFrom(kind, gamma, shaping, unbiased),
                                                 {View(trained), View(weight), View(baseline)}));
        return nb::make_tuple(Give(std::move(result.advantage)), Give(std::move(result.value)),
                              Give(std::move(result.population)));
      },
      "batch"_a, "name"_a, "kind"_a, "gamma"_a, "shaping"_a, "unbiased_shaping"_a, "single"_a,
      "trained"_a.none(), "weight"_a.none(), "baseline"_a.none());

  m.def(
      "weigh_prompts_by_variance",
      [](const Batch& batch, const In<double>& weight, const Out<double>& advantage) {
        Check(rl::WeighPromptsByVariance(batch.index(), batch.rows().keep, View(weight),
                                         View(advantage)));
      },
      "batch"_a, "weight"_a, "advantage"_a.noconvert());
  m.def(
      "standardize",
      [](const In<uint8_t>& member, const Out<double>& advantage) {
        Check(rl::StandardizeAdvantages(View(member), View(advantage)));
      },
      "member"_a, "advantage"_a.noconvert());
}

template <typename T>
void BindTokenAdvantages(nb::module_& m) {
  m.def(
      "gae",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<double>& reward,
         const Maybe<T>& token_reward, const In<T>& values, double gamma, double lambda, bool whiten,
         const Out<T>& advantage, const Out<T>& returns) {
        Check(Unlocked([&] {
          return rl::GeneralizedAdvantages<T>(View(offsets), View(state),
                                              {View(reward), View(token_reward)}, View(values),
                                              gamma, lambda, whiten, View(advantage), View(returns));
        }));
      },
      "offsets"_a, "state"_a, "reward"_a, "token_reward"_a.none().noconvert(),
      "values"_a.noconvert(), "gamma"_a, "lambda_"_a, "whiten"_a, "advantage"_a.noconvert(),
      "returns"_a.noconvert());
  m.def(
      "reinforce_plus_plus",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<double>& reward,
         const Maybe<T>& token_reward, double gamma, const Out<T>& advantage, const Out<T>& returns) {
        Check(Unlocked([&] {
          return rl::ReinforcePlusPlus<T>(View(offsets), View(state),
                                          {View(reward), View(token_reward)}, gamma,
                                          View(advantage), View(returns));
        }));
      },
      "offsets"_a, "state"_a, "reward"_a, "token_reward"_a.none().noconvert(), "gamma"_a,
      "advantage"_a.noconvert(), "returns"_a.noconvert());
  m.def(
      "score_norms",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const Maybe<T>& logp_old,
         const Maybe<T>& sum_pi_squared, const Maybe<T>& importance_weights, bool uniform_weight,
         bool uniform_cumulative, const Out<T>& weight) {
        Check(Unlocked([&] {
          return rl::ScoreNorms<T>(View(offsets), View(state), View(logp_old), View(sum_pi_squared),
                                   View(importance_weights), {uniform_weight, uniform_cumulative},
                                   View(weight));
        }));
      },
      "offsets"_a, "state"_a, "logp_old"_a.none().noconvert(),
      "sum_pi_squared"_a.none().noconvert(), "importance_weights"_a.none().noconvert(),
      "uniform_weight"_a, "uniform_cumulative"_a, "weight"_a.noconvert());
  m.def(
      "sum_per_row",
      [](const In<int64_t>& offsets, const In<T>& values) {
        Check(rl::CheckOffsets(View(offsets), offsets.size() == 0 ? 0 : offsets.size() - 1,
                               values.size()));
        return Give(Unlocked([&] { return rl::SumPerRow<T>(View(offsets), View(values)); }));
      },
      "offsets"_a, "values"_a.noconvert());
  m.def(
      "token_optimal_baseline",
      [](const Batch& batch, const In<double>& value, const In<int64_t>& offsets,
         const In<uint8_t>& state, const In<T>& weight, const Out<T>& advantage) {
        Check(Unlocked([&] {
          return rl::TokenOptimalBaseline<T>(batch.index(), batch.rows().keep, View(value),
                                             View(offsets), View(state), View(weight),
                                             View(advantage));
        }));
      },
      "batch"_a, "value"_a, "offsets"_a, "state"_a, "weight"_a.noconvert(),
      "advantage"_a.noconvert());
}

template <typename T>
void BindMismatch(nb::module_& m) {
  m.def(
      "correct_mismatch",
      [](const Batch& batch, const In<int64_t>& offsets, const In<T>& logp_train,
         const In<T>& logp_rollout, const Out<uint8_t>& state,
         const std::optional<std::string>& rejection, double lower, double upper,
         const std::optional<std::string>& scope, const std::optional<std::string>& importance,
         double importance_upper, double veto, const std::string& veto_scope, double band_lower,
         double band_upper, const std::optional<Out<T>>& weights) {
        rl::MismatchOptions options;
        if (rejection) {
          options.rejection = rl::Rejection{Take(rl::FindLevel(*rejection)), lower, upper, {}};
          if (scope) options.rejection->scope = Take(rl::FindScope(*scope));
        }
        if (importance) {
          options.importance = rl::Importance{Take(rl::FindLevel(*importance)), importance_upper};
        }
        options.veto = veto;
        options.veto_scope = Take(rl::FindScope(veto_scope));
        options.band_lower = band_lower;
        options.band_upper = band_upper;
        return Give(Take(Unlocked([&] {
          return rl::CorrectMismatch<T>(batch.index(),
                                        {View(offsets), View(logp_train), View(logp_rollout)},
                                        options, View(state),
                                        weights ? View(*weights) : std::span<T>());
        })));
      },
      "batch"_a, "offsets"_a, "logp_train"_a.noconvert(), "logp_rollout"_a.noconvert(),
      "state"_a.noconvert(), "rejection"_a.none(), "lower"_a, "upper"_a, "scope"_a.none(),
      "importance"_a.none(), "importance_upper"_a, "veto"_a, "veto_scope"_a, "band_lower"_a,
      "band_upper"_a, "weights"_a.none().noconvert());
  m.def(
      "log_ratios",
      [](const Batch& batch, const In<int64_t>& offsets, const In<T>& logp_train,
         const In<T>& logp_rollout, const In<uint8_t>& state, const std::string& level) {
        const rl::Level at = Take(rl::FindLevel(level));
        return Give(Take(Unlocked([&] {
          return rl::LogRatios<T>(batch.index(),
                                  {View(offsets), View(logp_train), View(logp_rollout)},
                                  View(state), at);
        })));
      },
      "batch"_a, "offsets"_a, "logp_train"_a.noconvert(), "logp_rollout"_a.noconvert(), "state"_a,
      "level"_a);
  m.def(
      "rejection_for_rate",
      [](const Batch& batch, const In<int64_t>& offsets, const In<T>& logp_train,
         const In<T>& logp_rollout, const In<uint8_t>& state, const std::string& level, double rate) {
        const rl::Level at = Take(rl::FindLevel(level));
        const rl::Rejection rejection = Take(Unlocked([&] {
          return rl::RejectionForRate<T>(batch.index(),
                                         {View(offsets), View(logp_train), View(logp_rollout)},
                                         View(state), at, rate);
        }));
        return nb::make_tuple(rejection.lower, rejection.upper);
      },
      "batch"_a, "offsets"_a, "logp_train"_a.noconvert(), "logp_rollout"_a.noconvert(), "state"_a,
      "level"_a, "rate"_a);
  m.def(
      "profile_mismatch",
      [](const In<int64_t>& offsets, const In<T>& logp_train, const In<T>& logp_rollout,
         const In<uint8_t>& state) {
        const rl::MismatchProfile profile = Take(Unlocked([&] {
          return rl::ProfileMismatch<T>({View(offsets), View(logp_train), View(logp_rollout)},
                                        View(state));
        }));
        const auto give = [](const auto& buckets) {
          nb::list out;
          for (const auto& b : buckets) out.append(nb::make_tuple(b.n, b.sum_log, b.sum_absolute_log));
          return out;
        };
        return nb::make_tuple(give(profile.by_position), give(profile.by_probability));
      },
      "offsets"_a, "logp_train"_a.noconvert(), "logp_rollout"_a.noconvert(), "state"_a);
}

void BindStates(nb::module_& m) {
  m.def(
      "reject_rows",
      [](const In<int64_t>& offsets, const In<uint8_t>& reasons, const Out<uint8_t>& state) {
        Check(rl::CheckOffsets(View(offsets), reasons.size(), state.size()));
        Unlocked([&] {
          rl::RejectRows(View(offsets), View(reasons), false, View(state));
          return 0;
        });
      },
      "offsets"_a, "reasons"_a, "state"_a.noconvert());
  m.def(
      "count_tokens",
      [](const In<int64_t>& offsets, const In<uint8_t>& state) {
        Check(rl::CheckOffsets(View(offsets), offsets.size() == 0 ? 0 : offsets.size() - 1,
                               state.size()));
        auto counts = Unlocked([&] { return rl::CountTokens(View(offsets), View(state)); });
        return nb::make_tuple(Give(std::move(counts.trained)), Give(std::move(counts.response)));
      },
      "offsets"_a, "state"_a);
  m.def(
      "sample_by_coverage",
      [](const Batch& batch, const In<int64_t>& offsets, const Out<uint8_t>& state,
         const In<uint8_t>& correct, const In<double>& coverage, const Maybe<double>& speedup,
         bool geometric, bool correct_only, double threshold, double width,
         std::optional<double> speedup_threshold, const std::string& scope,
         bool draw_per_trajectory, uint64_t seed, uint32_t step) {
        const rl::CoverageOptions options{geometric,         correct_only,
                                          threshold,         width,
                                          speedup_threshold, Take(rl::FindScope(scope)),
                                          draw_per_trajectory, seed, step};
        auto result = Take(Unlocked([&] {
          return rl::SampleByCoverage(batch.index(), batch.rows(), View(offsets),
                                      {View(correct), View(speedup), View(coverage)}, options,
                                      View(state));
        }));
        return nb::make_tuple(Give(std::move(result.keep_probability)),
                              Give(std::move(result.rejected)), Give(result.metrics));
      },
      "batch"_a, "offsets"_a, "state"_a.noconvert(), "correct"_a, "coverage"_a, "speedup"_a.none(),
      "geometric"_a, "correct_only"_a, "threshold"_a, "width"_a, "speedup_threshold"_a.none(),
      "scope"_a, "draw_per_trajectory"_a, "seed"_a, "step"_a);
  m.def(
      "filter_groups",
      [](const Batch& batch, const Maybe<int64_t>& length, double smallest_std,
         const std::string& signal, double reward_threshold, int64_t min_group_size,
         int64_t max_length, int64_t min_short, int64_t max_groups, int64_t samples_per_group,
         const std::string& strategy, uint64_t seed, uint32_t step) {
        rl::FilterOptions options;
        options.smallest_std = smallest_std;
        options.signal = Take(rl::FindSignal(signal));
        options.reward_threshold = reward_threshold;
        options.min_group_size = min_group_size;
        options.max_length = max_length;
        options.min_short = min_short;
        options.max_groups = max_groups;
        options.samples_per_group = samples_per_group;
        options.strategy = Take(rl::FindStrategy(strategy));
        options.seed = seed;
        options.step = step;
        auto result = Take(rl::FilterGroups(batch.index(), batch.rows(), View(length), options));
        return nb::make_tuple(Give(std::move(result.keep)), result.groups, result.samples,
                              Give(result.metrics));
      },
      "batch"_a, "length"_a.none(), "smallest_std"_a, "signal"_a, "reward_threshold"_a,
      "min_group_size"_a, "max_length"_a, "min_short"_a, "max_groups"_a, "samples_per_group"_a,
      "strategy"_a, "seed"_a, "step"_a);
  m.def(
      "signal_metrics",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<double>& advantage,
         const In<uint32_t>& population) {
        if (population.size() != advantage.size()) {
          throw nb::value_error("advantage and population differ in length");
        }
        const auto a = View(advantage);
        const auto p = View(population);
        const rl::Advantages advantages{{a.begin(), a.end()}, {}, {p.begin(), p.end()}};
        return Give(Take(Unlocked(
            [&] { return rl::SignalMetrics(View(offsets), View(state), advantages); })));
      },
      "offsets"_a, "state"_a, "advantage"_a, "population"_a);
  m.def(
      "rejection_quality",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<uint8_t>& correct,
         const In<double>& speedup, uint8_t reasons, const std::vector<double>& thresholds) {
        return Give(Take(rl::RejectionQuality(View(offsets), View(state),
                                              {View(correct), View(speedup), {}}, reasons,
                                              thresholds)));
      },
      "offsets"_a, "state"_a, "correct"_a, "speedup"_a, "reasons"_a, "thresholds"_a);
}

template <typename T>
void BindLoss(nb::module_& m) {
  m.def(
      "policy_loss",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<T>& logp,
         const Maybe<T>& logp_old, const Maybe<double>& row_advantage,
         const Maybe<T>& token_advantage, const Maybe<T>& weights, const Maybe<T>& entropy,
         const Maybe<T>& logp_reference, const std::string& kind, double clip_low, double clip_high,
         double dual_clip, const std::string& aggregation, double scale, double norm_length,
         double entropy_quantile, double risk_probability, double kl_coefficient,
         const std::string& kl_kind, const std::optional<Out<T>>& gradient) {
        const rl::LossOptions options{Take(rl::FindLossKind(kind)), clip_low,         clip_high,
                                      dual_clip, Take(rl::FindAggregation(aggregation)), scale,
                                      norm_length, entropy_quantile, risk_probability,
                                      kl_coefficient, Take(rl::FindKlKind(kl_kind))};
        const rl::LossInputs<T> inputs{View(offsets),       View(state),    View(logp),
                                       View(logp_old),      View(row_advantage),
                                       View(token_advantage), View(weights), View(entropy),
                                       View(logp_reference)};
        const rl::Loss loss = Take(Unlocked([&] {
          return rl::PolicyLoss<T>(inputs, options, gradient ? View(*gradient) : std::span<T>());
        }));
        return nb::make_tuple(loss.value, Give(loss.metrics));
      },
      "offsets"_a, "state"_a, "logp"_a.noconvert(), "logp_old"_a.none().noconvert(),
      "row_advantage"_a.none(), "token_advantage"_a.none().noconvert(),
      "weights"_a.none().noconvert(), "entropy"_a.none().noconvert(),
      "logp_reference"_a.none().noconvert(), "kind"_a, "clip_low"_a, "clip_high"_a, "dual_clip"_a,
      "aggregation"_a, "scale"_a, "norm_length"_a, "entropy_quantile"_a, "risk_probability"_a,
      "kl_coefficient"_a, "kl_kind"_a, "gradient"_a.none().noconvert());
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
        const rl::RewardOptions options{correct_weight,  performance_weight, penalty,
                                        speedup_epsilon, speedup_upper,      speedup_lower,
                                        coverage,        coverage_weight,
                                        Take(rl::FindCoverageType(coverage_type)), round_coverage,
                                        compilation_fail, correctness_fail,  slower};
        const rl::Reward reward =
            Take(rl::ComputeReward(Take(rl::FindRewardFunction(name)),
                                   EvaluationFrom(completed, compiled, correct, decoy, speedup,
                                                  own_kernels, all_kernels, own_time_us, all_time_us),
                                   options));
        return nb::make_tuple(reward.value, reward.correctness, reward.performance, reward.coverage);
      },
      "name"_a, nb::kw_only(), "completed"_a, "compiled"_a, "correct"_a, "decoy"_a,
      "speedup"_a.none(), "own_kernels"_a, "all_kernels"_a, "own_time_us"_a, "all_time_us"_a,
      "correct_weight"_a, "performance_weight"_a, "penalty"_a, "speedup_epsilon"_a,
      "speedup_upper"_a, "speedup_lower"_a, "coverage"_a, "coverage_weight"_a, "coverage_type"_a,
      "round_coverage"_a, "compilation_fail"_a, "correctness_fail"_a, "slower"_a);
}

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

void BindStatistics(nb::module_& m) {
  m.def("uniform_at", &rl::UniformAt, "seed"_a, "step"_a, "trajectory"_a, "turn"_a);
  m.def("set_threads", &rl::SetThreads, "threads"_a);
  m.def("threads", &rl::Threads);
  m.def("pass_at_k", [](int64_t n, int64_t c, int64_t k) { return Take(rl::PassAtK(n, c, k)); },
        "n"_a, "c"_a, "k"_a);
  m.def("mean_pass_at_k",
        [](const In<int64_t>& n, const In<int64_t>& c, int64_t k) {
          return Take(rl::MeanPassAtK(View(n), View(c), k));
        },
        "n"_a, "c"_a, "k"_a);
  m.def("best_at_k", [](const In<double>& values, int64_t k) { return Take(rl::BestAtK(View(values), k)); },
        "values"_a, "k"_a);
  m.def("wilson",
        [](int64_t successes, int64_t trials, double confidence) {
          return Give(Take(rl::WilsonInterval(successes, trials, confidence)));
        },
        "successes"_a, "trials"_a, "confidence"_a);
  m.def("fast_p",
        [](const In<uint8_t>& correct, const In<double>& speedup, double p, bool inclusive,
           double confidence) {
          return Give(Take(rl::FastP(View(correct), View(speedup), p, inclusive, confidence)));
        },
        "correct"_a, "speedup"_a, "p"_a, "inclusive"_a, "confidence"_a);
  m.def("bca_mean",
        [](const In<double>& values, int resamples, uint64_t seed, double confidence) {
          return Give(Take(Unlocked(
              [&] { return rl::BcaMean(View(values), resamples, seed, confidence); })));
        },
        "values"_a, "resamples"_a, "seed"_a, "confidence"_a);
  m.def("mcnemar",
        [](int64_t only_a, int64_t only_b) {
          const auto result = Take(rl::McNemar(only_a, only_b));
          return nb::make_tuple(result.exact, result.mid_p);
        },
        "only_a"_a, "only_b"_a);
  m.def("sign_flip",
        [](const In<double>& differences, int resamples, uint64_t seed) {
          return Take(Unlocked([&] { return rl::SignFlip(View(differences), resamples, seed); }));
        },
        "differences"_a, "resamples"_a, "seed"_a);
  m.def("hierarchical_mean",
        [](const In<int64_t>& task, const In<double>& value, const Pairs& family_of, int resamples,
           uint64_t seed, double confidence) {
          return Give(Take(Unlocked([&] {
            return rl::HierarchicalMean({View(task), View(value)}, family_of, resamples, seed,
                                        confidence);
          })));
        },
        "task"_a, "value"_a, "family_of"_a, "resamples"_a, "seed"_a, "confidence"_a);
  m.def("hierarchical_difference",
        [](const In<int64_t>& task_a, const In<double>& value_a, const In<int64_t>& task_b,
           const In<double>& value_b, const Pairs& family_of, int resamples, uint64_t seed,
           double confidence) {
          return Give(Take(Unlocked([&] {
            return rl::HierarchicalDifference({View(task_a), View(value_a)},
                                              {View(task_b), View(value_b)}, family_of, resamples,
                                              seed, confidence);
          })));
        },
        "task_a"_a, "value_a"_a, "task_b"_a, "value_b"_a, "family_of"_a, "resamples"_a, "seed"_a,
        "confidence"_a);
  m.def("holm", [](const In<double>& p) { return Give(Take(rl::Holm(View(p)))); }, "p_values"_a);
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Bridge to Assay's C++ library of RL methods; use the functions of assay.rl.";
  BindBatch(m);
  BindAdvantages(m);
  BindTokenAdvantages<float>(m);
  BindTokenAdvantages<double>(m);
  BindMismatch<float>(m);
  BindMismatch<double>(m);
  BindStates(m);
  BindLoss<float>(m);
  BindLoss<double>(m);
  BindRewards(m);
  BindStatistics(m);
}
