#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rl/batch.h"

namespace assay::rl {

/// Which samples of which groups train. A sample is a trajectory; its reward and length are those
/// of its last turn.
struct FilterOptions {
  /// A group of more than one sample is dropped if it teaches nothing: its figures have an unbiased
  /// standard deviation below this.
  double smallest_std = 1e-3;
  enum class Signal {
    kLastTurn,  ///< the samples' last rewards
    kAnyTurn,   ///< kept if the rewards of any one turn differ: earlier turns may teach where the
                ///< last tie
  };
  Signal signal = Signal::kLastTurn;
  /// Drop samples whose reward is below; -infinity: none.
  double reward_threshold = -1e308;
  /// Groups left with fewer samples are dropped; 0: samples_per_group / 2 + 1, and no limit if that
  /// is 0 too.
  int64_t min_group_size = 0;
  /// With a positive `max_length`: drop groups with fewer than `min_short` samples shorter than it,
  /// and groups with none.
  int64_t max_length = 0;
  int64_t min_short = 0;
  /// 0: keep all. More groups: complete ones (at least samples_per_group) first, at random.
  int64_t max_groups = 0;
  /// 0: keep all. More samples: choose, keeping the share of positive rewards.
  int64_t samples_per_group = 0;
  enum class Strategy {
    kUniform,               ///< at random
    kEfficiency,            ///< positives by reward per token, others the shortest
    kEfficiencyStochastic,  ///< at random, with those figures (1 / length for others) as weights
  };
  Strategy strategy = Strategy::kUniform;
  uint64_t seed = 1;
  uint32_t step = 0;
};

/// "last_turn", "any_turn"; "uniform", "efficiency", "efficiency_stochastic".
Result<FilterOptions::Signal> FindSignal(std::string_view name);
Result<FilterOptions::Strategy> FindStrategy(std::string_view name);

struct Filtered {
  std::vector<uint8_t> keep;  ///< per row; all rows of a sample alike, padding included
  int64_t groups = 0;         ///< that are left
  int64_t samples = 0;
  /// groups, groups_without_signal, groups_too_small, groups_too_long, groups_over, samples_over,
  /// samples_below_threshold
  Metrics metrics;
};

/// Choices depend on (seed, step) and the trajectories' and groups' ids only, not on the order of
/// rows. `length` (response tokens per row) may be empty if neither max_length nor an efficiency
/// strategy is used. Void rows (keep = 0) have reward 0.
Result<Filtered> FilterGroups(const Index& index, const Rows& rows, std::span<const int64_t> length,
                              const FilterOptions& options);

}  // namespace assay::rl
