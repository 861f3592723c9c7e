#include "bridge.h"
#include "rl/mismatch.h"
#include "rl/monitor.h"

namespace assay::python {
namespace {

template <typename T>
void BindTokens(nb::module_& m) {
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
          return rl::CorrectMismatch<T>(
              batch.index(), {View(offsets), View(logp_train), View(logp_rollout)}, options,
              View(state), weights ? View(*weights) : std::span<T>());
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
         const In<T>& logp_rollout, const In<uint8_t>& state, const std::string& level,
         double rate) {
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
          for (const auto& b : buckets)
            out.append(nb::make_tuple(b.n, b.sum_log, b.sum_absolute_log));
          return out;
        };
        return nb::make_tuple(give(profile.by_position), give(profile.by_probability));
      },
      "offsets"_a, "logp_train"_a.noconvert(), "logp_rollout"_a.noconvert(), "state"_a);
}

}  // namespace

void BindMismatch(nb::module_& m) {
  BindTokens<float>(m);
  BindTokens<double>(m);
}

}  // namespace assay::python
