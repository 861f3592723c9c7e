#include "bridge.h"
#include "rl/precision.h"
#include "rl/remeasure.h"
#include "rl/scaling.h"
#include "rl/turn_metrics.h"

namespace assay::python {
namespace {

template <typename T>
void BindTokens(nb::module_& m) {
  m.def(
      "filter_by_precision",
      [](const Batch& batch, const In<int64_t>& offsets, const In<T>& logp_train,
         const In<T>& logp_rollout, const Maybe<T>& logp_top, double mean_limit, double gap_floor,
         const Out<uint8_t>& state) {
        auto result = Take(Unlocked([&] {
          return rl::FilterByPrecision<T>(batch.index(),
                                          {View(offsets), View(logp_train), View(logp_rollout)},
                                          View(logp_top), {mean_limit, gap_floor}, View(state));
        }));
        return nb::make_tuple(Give(std::move(result.gates)), Give(result.metrics));
      },
      "batch"_a, "offsets"_a, "logp_train"_a.noconvert(), "logp_rollout"_a.noconvert(),
      "logp_top"_a.none().noconvert(), "mean_limit"_a, "gap_floor"_a, "state"_a.noconvert());
}

using Run = std::tuple<bool, bool, std::optional<double>>;

}  // namespace

void BindReports(nb::module_& m) {
  BindTokens<float>(m);
  BindTokens<double>(m);
  m.def(
      "turn_metrics",
      [](const Batch& batch, const In<uint8_t>& correct, const In<double>& speedup,
         const Maybe<uint8_t>& compiled, const Maybe<uint8_t>& flagged,
         const Maybe<uint8_t>& abnormal, const Maybe<uint8_t>& timeout,
         const Maybe<double>& time_coverage, const Maybe<double>& number_coverage,
         const Maybe<double>& told_speedup, const std::vector<double>& thresholds,
         bool count_abnormal) {
        const rl::TurnOutcomes outcomes{
            View(correct),       View(speedup),         View(compiled),
            View(flagged),       View(abnormal),        View(timeout),
            View(time_coverage), View(number_coverage), View(told_speedup)};
        return Give(Take(Unlocked([&] {
          return rl::TurnMetrics(batch.index(), batch.rows(), outcomes,
                                 {thresholds, count_abnormal});
        })));
      },
      "batch"_a, "correct"_a, "speedup"_a, "compiled"_a.none(), "flagged"_a.none(),
      "abnormal"_a.none(), "timeout"_a.none(), "time_coverage"_a.none(), "number_coverage"_a.none(),
      "told_speedup"_a.none(), "thresholds"_a, "count_abnormal"_a);
  m.def(
      "turn_signal",
      [](const Batch& batch, const In<double>& advantage, const In<double>& value,
         const In<uint32_t>& population) {
        const auto copy = [](const auto& view) { return std::vector(view.begin(), view.end()); };
        return Give(Take(
            rl::TurnSignal(batch.index(), batch.rows(),
                           {copy(View(advantage)), copy(View(value)), copy(View(population))})));
      },
      "batch"_a, "advantage"_a, "value"_a, "population"_a);
  m.def(
      "join_measurements",
      [](const std::vector<Run>& runs, double suspicious, const std::string& policy, int wanted,
         double spread) {
        std::vector<rl::Measurement> measured;
        measured.reserve(runs.size());
        for (const auto& [valid, correct, speedup] : runs)
          measured.push_back({valid, correct, speedup});
        const rl::Remeasured joined = Take(rl::JoinMeasurements(
            measured, {suspicious, Take(rl::FindRemeasurePolicy(policy)), wanted, spread}));
        return nb::make_tuple(joined.result.valid, joined.result.correct, joined.result.speedup,
                              joined.used, joined.spread, joined.agreed, joined.still_wanted);
      },
      "runs"_a, "suspicious"_a, "policy"_a, "wanted"_a, "spread"_a);
  m.def(
      "total_turns",
      [](int64_t turns, int64_t iterations, int64_t remain) {
        return Take(rl::TotalTurns({turns, iterations, remain}));
      },
      "turns"_a, "iterations"_a, "remain"_a);
  m.def(
      "select_window",
      [](int64_t turns, int64_t remain, const std::string& method, const std::string& metric,
         const Maybe<double>& reward, const Maybe<double>& speedup, const Maybe<double>& coverage) {
        const rl::Window window = Take(rl::SelectWindow(
            turns, remain, Take(rl::FindWindowMethod(method)), Take(rl::FindWindowMetric(metric)),
            {View(reward), View(speedup), View(coverage)}));
        return nb::make_tuple(window.begin, window.end);
      },
      "turns"_a, "remain"_a, "method"_a, "metric"_a, "reward"_a.none(), "speedup"_a.none(),
      "coverage"_a.none());
}

}  // namespace assay::python
