#include "bridge.h"
#include "rl/filter.h"
#include "rl/monitor.h"
#include "rl/sampling.h"
#include "rl/token_state.h"

namespace assay::python {

void BindSelection(nb::module_& m) {
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
        const rl::CoverageOptions options{geometric,
                                          correct_only,
                                          threshold,
                                          width,
                                          speedup_threshold,
                                          Take(rl::FindScope(scope)),
                                          draw_per_trajectory,
                                          seed,
                                          step};
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
        return Give(Take(
            Unlocked([&] { return rl::SignalMetrics(View(offsets), View(state), advantages); })));
      },
      "offsets"_a, "state"_a, "advantage"_a, "population"_a);
  m.def(
      "rejection_quality",
      [](const In<int64_t>& offsets, const In<uint8_t>& state, const In<uint8_t>& correct,
         const In<double>& speedup, uint8_t reasons, const std::vector<double>& thresholds) {
        return Give(Take(rl::RejectionQuality(
            View(offsets), View(state), {View(correct), View(speedup), {}}, reasons, thresholds)));
      },
      "offsets"_a, "state"_a, "correct"_a, "speedup"_a, "reasons"_a, "thresholds"_a);
}

}  // namespace assay::python
