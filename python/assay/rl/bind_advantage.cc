#include "bridge.h"
#include "rl/advantage.h"
#include "rl/returns.h"
#include "rl/token_advantage.h"

namespace assay::python {
namespace {

rl::ReturnOptions ReturnsFrom(const std::string& kind, double gamma, bool shaping, bool unbiased) {
  return {Take(rl::FindReturnKind(kind)), gamma, shaping, unbiased};
}

template <typename T>
void BindTokens(nb::module_& m) {
  m.def(
      "gae",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<double>& reward,
         const Maybe<T>& token_reward, const In<T>& values, double gamma, double lambda,
         bool whiten, const Out<T>& advantage, const Out<T>& returns) {
        Check(Unlocked([&] {
          return rl::GeneralizedAdvantages<T>(
              View(offsets), View(state), {View(reward), View(token_reward)}, View(values), gamma,
              lambda, whiten, View(advantage), View(returns));
        }));
      },
      "offsets"_a, "state"_a, "reward"_a, "token_reward"_a.none().noconvert(),
      "values"_a.noconvert(), "gamma"_a, "lambda_"_a, "whiten"_a, "advantage"_a.noconvert(),
      "returns"_a.noconvert());
  m.def(
      "reinforce_plus_plus",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<double>& reward,
         const Maybe<T>& token_reward, double gamma, const Out<T>& advantage,
         const Out<T>& returns) {
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

}  // namespace

void BindAdvantages(nb::module_& m) {
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
        Check(
            rl::VoidTurns(batch.index(), batch.rows().reward, View(failed), mask_void_turn, keep));
        return Give(std::move(keep));
      },
      "batch"_a, "failed"_a.none(), "mask_void_turn"_a);

  m.def(
      "advantages",
      [](const Batch& batch, const std::string& name, const std::string& kind, double gamma,
         bool shaping, bool unbiased, const std::string& single, const std::string& normalisation,
         const Maybe<uint8_t>& trained, const Maybe<double>& weight,
         const Maybe<double>& baseline) {
        rl::Estimator estimator = Take(rl::FindEstimator(name));
        if (!single.empty()) estimator.single = Take(rl::FindSingle(single));
        if (!normalisation.empty()) estimator = Take(rl::WithScale(estimator, normalisation));
        auto result = Take(rl::ComputeAdvantages(batch.index(), batch.rows(), estimator,
                                                 ReturnsFrom(kind, gamma, shaping, unbiased),
                                                 {View(trained), View(weight), View(baseline)}));
        return nb::make_tuple(Give(std::move(result.advantage)), Give(std::move(result.value)),
                              Give(std::move(result.population)));
      },
      "batch"_a, "name"_a, "kind"_a, "gamma"_a, "shaping"_a, "unbiased_shaping"_a, "single"_a,
      "normalisation"_a, "trained"_a.none(), "weight"_a.none(), "baseline"_a.none());

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
  BindTokens<float>(m);
  BindTokens<double>(m);
}

}  // namespace assay::python
