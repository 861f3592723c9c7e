#include "bridge.h"
#include "rl/parallel.h"
#include "rl/random.h"

namespace assay::python {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

}  // namespace

void BindStatistics(nb::module_& m) {
  m.def("uniform_at", &rl::UniformAt, "seed"_a, "step"_a, "trajectory"_a, "turn"_a);
  m.def(
      "set_threads",
      [](int threads) {
        if (threads < 0) throw nb::value_error("threads must be >= 0; 0 is one per processor");
        rl::SetThreads(threads);
      },
      "threads"_a);
  m.def("threads", &rl::Threads);
  m.def(
      "pass_at_k", [](int64_t n, int64_t c, int64_t k) { return Take(rl::PassAtK(n, c, k)); },
      "n"_a, "c"_a, "k"_a);
  m.def(
      "mean_pass_at_k",
      [](const In<int64_t>& n, const In<int64_t>& c, int64_t k) {
        return Take(rl::MeanPassAtK(View(n), View(c), k));
      },
      "n"_a, "c"_a, "k"_a);
  m.def(
      "best_at_k",
      [](const In<double>& values, int64_t k) { return Take(rl::BestAtK(View(values), k)); },
      "values"_a, "k"_a);
  m.def(
      "wilson",
      [](int64_t successes, int64_t trials, double confidence) {
        return Give(Take(rl::WilsonInterval(successes, trials, confidence)));
      },
      "successes"_a, "trials"_a, "confidence"_a);
  m.def(
      "fast_p",
      [](const In<uint8_t>& correct, const In<double>& speedup, double p, bool inclusive,
         double confidence) {
        return Give(Take(rl::FastP(View(correct), View(speedup), p, inclusive, confidence)));
      },
      "correct"_a, "speedup"_a, "p"_a, "inclusive"_a, "confidence"_a);
  m.def(
      "bca_mean",
      [](const In<double>& values, int resamples, uint64_t seed, double confidence) {
        return Give(
            Take(Unlocked([&] { return rl::BcaMean(View(values), resamples, seed, confidence); })));
      },
      "values"_a, "resamples"_a, "seed"_a, "confidence"_a);
  m.def(
      "bca_geometric_mean",
      [](const In<double>& values, int resamples, uint64_t seed, double confidence) {
        return Give(Take(Unlocked(
            [&] { return rl::BcaGeometricMean(View(values), resamples, seed, confidence); })));
      },
      "values"_a, "resamples"_a, "seed"_a, "confidence"_a);
  m.def(
      "bootstrap_median",
      [](const In<double>& values, int resamples, uint64_t seed, double confidence) {
        return Give(Take(Unlocked(
            [&] { return rl::BootstrapMedian(View(values), resamples, seed, confidence); })));
      },
      "values"_a, "resamples"_a, "seed"_a, "confidence"_a);
  m.def(
      "mcnemar",
      [](int64_t only_a, int64_t only_b) {
        const auto result = Take(rl::McNemar(only_a, only_b));
        return nb::make_tuple(result.exact, result.mid_p);
      },
      "only_a"_a, "only_b"_a);
  m.def(
      "sign_flip",
      [](const In<double>& differences, int resamples, uint64_t seed) {
        return Take(Unlocked([&] { return rl::SignFlip(View(differences), resamples, seed); }));
      },
      "differences"_a, "resamples"_a, "seed"_a);
  m.def(
      "hierarchical_mean",
      [](const In<int64_t>& task, const In<double>& value, const Pairs& family_of, int resamples,
         uint64_t seed, double confidence) {
        return Give(Take(Unlocked([&] {
          return rl::HierarchicalMean({View(task), View(value)}, family_of, resamples, seed,
                                      confidence);
        })));
      },
      "task"_a, "value"_a, "family_of"_a, "resamples"_a, "seed"_a, "confidence"_a);
  m.def(
      "hierarchical_difference",
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
  m.def(
      "holm", [](const In<double>& p) { return Give(Take(rl::Holm(View(p)))); }, "p_values"_a);
}

}  // namespace assay::python
