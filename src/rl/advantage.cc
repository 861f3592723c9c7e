#include "rl/advantage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "rl/moments.h"

namespace assay::rl {
namespace {

constexpr double kWeightEpsilon = 1e-8;

/// One thing that is compared with others.
struct Item {
  uint32_t cell = 0;
  bool member = false;
  double value = 0;
  double weight = 0;
  double given = 0;
  int64_t turn = 0;    // for Single::kTurnMean
  uint32_t group = 0;  // for Single::kGroupMean
};

struct Scored {
  double advantage = 0;
  uint32_t population = 0;
};

/// Mean around the first value, so that identical values give their own value exactly.
double MeanOf(const std::vector<Item>& items, std::span<const uint32_t> members) {
  const double first = items[members.front()].value;
  double sum = 0;
  for (const uint32_t i : members) sum += items[i].value - first;
  return first + sum / static_cast<double>(members.size());
}

class Scorer {
 public:
  Scorer(const Estimator& estimator, const std::vector<Item>& items)
      : estimator_(estimator), items_(items), scored_(items.size()) {}

  std::vector<Scored> Run() {
    CollectPools();
    std::vector<uint32_t> order;
    order.reserve(items_.size());
    for (uint32_t i = 0; i < items_.size(); ++i) {
      if (items_[i].cell != Index::kNone) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](uint32_t i) { return items_[i].cell; });
    for (size_t begin = 0; begin < order.size();) {
      size_t end = begin;
      while (end < order.size() && items_[order[end]].cell == items_[order[begin]].cell) ++end;
      Cell(std::span(order).subspan(begin, end - begin));
      begin = end;
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].cell == Index::kNone) scored_[i].advantage = Outside(items_[i], 0.0, 1.0);
    }
    return std::move(scored_);
  }

 private:
  /// The larger populations that a population of one falls back on.
  void CollectPools() {
    if (estimator_.single != Estimator::Single::kTurnMean &&
        estimator_.single != Estimator::Single::kGroupMean)
      return;
    for (const Item& item : items_) {
      if (item.member) pools_[PoolOf(item)].Add(item.value);
    }
  }

  [[nodiscard]] int64_t PoolOf(const Item& item) const {
    return estimator_.single == Estimator::Single::kGroupMean ? item.group : item.turn;
  }

  [[nodiscard]] double Outside(const Item& item, double baseline, double scale) const {
    switch (estimator_.outside) {
      case Estimator::Outside::kValue:
        return item.value;
      case Estimator::Outside::kTreated:
        return (item.value - baseline) / scale;
      case Estimator::Outside::kZero:
        break;
    }
    return 0.0;
  }

  /// The baseline and the divisor of a population of one.
  std::pair<double, double> Alone(const Item& item) const {
    const double scale =
        estimator_.scale == Estimator::Scale::kNone ? 1.0 : 1.0 + estimator_.epsilon;
    if (estimator_.single == Estimator::Single::kZero) return {item.value, scale};
    if (estimator_.single != Estimator::Single::kRaw) {
      const Moments& pool = pools_.at(PoolOf(item));
      // Mean of the others, exact where all are equal.
      if (pool.n > 1) return {pool.mean + (pool.mean - item.value) / (pool.n - 1), scale};
    }
    return {0.0, scale};
  }

  void Cell(std::span<const uint32_t> cell) {
    members_.clear();
    std::ranges::copy_if(cell, std::back_inserter(members_),
                         [&](uint32_t i) { return items_[i].member; });
    const auto n = static_cast<double>(members_.size());
    for (const uint32_t i : members_)
      scored_[i].population = static_cast<uint32_t>(members_.size());

    double baseline = 0.0;
    double scale = 1.0;
    if (estimator_.baseline == Estimator::Baseline::kGiven) {
      for (const uint32_t i : members_) scored_[i].advantage = items_[i].value - items_[i].given;
    } else if (members_.size() == 1) {
      std::tie(baseline, scale) = Alone(items_[members_.front()]);
      scored_[members_.front()].advantage = (items_[members_.front()].value - baseline) / scale;
    } else if (members_.size() > 1) {
      baseline = GroupBaseline();
      scale = GroupScale();
      // G - mean of the others = N / (N - 1) * (G - mean of all).
      const double factor =
          estimator_.baseline == Estimator::Baseline::kLeaveOneOut ? n / (n - 1.0) : 1.0;
      for (const uint32_t i : members_) {
        scored_[i].advantage = factor * (items_[i].value - baseline) / scale;
      }
      if (estimator_.scale == Estimator::Scale::kLeaveOneOutStd) DivideByStdOfOthers();
    }
    for (const uint32_t i : cell) {
      if (!items_[i].member) scored_[i].advantage = Outside(items_[i], baseline, scale);
    }
  }

  [[nodiscard]] double GroupBaseline() const {
    switch (estimator_.baseline) {
      case Estimator::Baseline::kMean:
      case Estimator::Baseline::kLeaveOneOut:
        return MeanOf(items_, members_);
      case Estimator::Baseline::kOptimal: {
        double weighted = 0;
        double weights = 0;
        for (const uint32_t i : members_) {
          weighted += items_[i].value * items_[i].weight;
          weights += items_[i].weight;
        }
        return weighted / (weights + kWeightEpsilon);
      }
      case Estimator::Baseline::kNone:
      case Estimator::Baseline::kGiven:
        break;
    }
    return 0.0;
  }

  [[nodiscard]] double GroupScale() const {
    if (estimator_.scale != Estimator::Scale::kStd) return 1.0;
    Moments moments;
    for (const uint32_t i : members_) moments.Add(items_[i].value);
    const double std = moments.Std();
    return (std < estimator_.smallest_std ? 1.0 : std) + estimator_.epsilon;
  }

  /// Prefix and suffix moments rather than "total minus mine": others that are all equal must give
  /// a deviation of exactly 0, where a difference would leave rounding noise.
  void DivideByStdOfOthers() {
    const size_t n = members_.size();
    std::vector<Moments> after(n + 1);
    for (size_t k = n; k-- > 0;) {
      after[k] = after[k + 1];
      after[k].Add(items_[members_[k]].value);
    }
    Moments before;
    for (size_t k = 0; k < n; ++k) {
      Moments others = before;
      others.Merge(after[k + 1]);
      const double std = n < 3 ? 1.0 : others.Std();
      scored_[members_[k]].advantage /= std + estimator_.epsilon;
      before.Add(items_[members_[k]].value);
    }
  }

  const Estimator& estimator_;
  const std::vector<Item>& items_;
  std::vector<Scored> scored_;
  std::vector<uint32_t> members_;
  std::unordered_map<int64_t, Moments> pools_;
};

bool Member(const Rows& rows, const AdvantageInputs& inputs, size_t row) {
  return Kept(rows.keep, row) && (inputs.trained.empty() || inputs.trained[row] != 0);
}

/// W of a row; padding and void turns have none, whatever is written there. In float32 a sum of
/// weights near 0 may come out below it.
double WeightOf(const Index& index, const Rows& rows, const AdvantageInputs& inputs, size_t row) {
  const bool has = !inputs.weight.empty() && !index.is_padding(row) && Kept(rows.keep, row);
  return has ? std::max(inputs.weight[row], 0.0) : 0.0;
}

uint32_t CellOf(const Index& index, Estimator::Scope scope, uint32_t row) {
  if (scope == Estimator::Scope::kBatch) return 0;
  if (index.is_padding(row)) return Index::kNone;
  return scope == Estimator::Scope::kGroup ? index.group_of(row) : index.cell_of(row);
}

std::vector<Item> TurnItems(const Index& index, const Rows& rows, const Estimator& estimator,
                            const AdvantageInputs& inputs, std::span<const double> value) {
  std::vector<Item> items(index.rows());
  for (size_t t = 0; t < index.trajectories(); ++t) {
    double weight = 0;
    for (const uint32_t row : index.turns_of(t)) {
      Item& item = items[row];
      item.cell = CellOf(index, estimator.scope, row);
      item.member = !index.is_padding(row) && Member(rows, inputs, row);
      weight += WeightOf(index, rows, inputs, row);
      item.value = value[row];
      item.weight = weight;
      item.given = inputs.baseline.empty() ? 0.0 : inputs.baseline[row];
      item.turn = rows.turn[row];
      item.group = index.group_of(row);
    }
  }
  return items;
}

std::vector<Item> TrajectoryItems(const Index& index, const Rows& rows, const Estimator& estimator,
                                  const AdvantageInputs& inputs) {
  std::vector<Item> items(index.trajectories());
  for (size_t t = 0; t < index.trajectories(); ++t) {
    Item& item = items[t];
    const uint32_t last = index.last_of(t);
    item.cell = Index::kNone;
    if (last == Index::kNone) continue;
    item.cell = CellOf(index, estimator.scope, last);
    item.member = estimator.members == Estimator::Members::kEveryone || Kept(rows.keep, last);
    bool trained = inputs.trained.empty();
    for (const uint32_t row : index.turns_of(t)) {
      if (index.is_padding(row)) continue;
      const double reward = Kept(rows.keep, row) ? rows.reward[row] : 0.0;
      if (estimator.value == Estimator::Value::kTotal) item.value += reward;
      if (estimator.value == Estimator::Value::kLast && row == last) item.value = reward;
      const bool weighs = estimator.value == Estimator::Value::kTotal || row == last;
      if (weighs) item.weight += WeightOf(index, rows, inputs, row);
      trained = trained || inputs.trained[row] != 0;
    }
    item.member = item.member && trained;
    item.given = inputs.baseline.empty() ? 0.0 : inputs.baseline[last];
    item.group = index.group_of(last);
  }
  return items;
}

struct Named {
  std::string_view name;
  Estimator estimator;
};

using E = Estimator;

constexpr auto kNamed = std::to_array<Named>({
    {"trloo", {.allows_shaping = false}},
    {"grpo", {.baseline = E::Baseline::kMean, .outside = E::Outside::kValue}},
    {"turn_independent_grpo",
     {.value = E::Value::kReward,
      .scope = E::Scope::kGroup,
      .baseline = E::Baseline::kMean,
      .outside = E::Outside::kValue}},
    {"erloo", {.scope = E::Scope::kGroup}},
    {"erloo_norm",
     {.scope = E::Scope::kGroup, .scale = E::Scale::kLeaveOneOutStd, .epsilon = 1e-8}},
    {"reinforce",
     {.scope = E::Scope::kBatch,
      .baseline = E::Baseline::kMean,
      .scale = E::Scale::kStd,
      .outside = E::Outside::kTreated,
      .epsilon = 1e-6}},
    {"turn_optimal_baseline", {.baseline = E::Baseline::kOptimal, .outside = E::Outside::kValue}},
    {"optimal_baseline",
     {.unit = E::Unit::kTrajectory,
      .value = E::Value::kTotal,
      .scope = E::Scope::kGroup,
      .baseline = E::Baseline::kOptimal,
      .outside = E::Outside::kValue}},
    {"grpo_std",
     {.unit = E::Unit::kTrajectory,
      .value = E::Value::kLast,
      .scope = E::Scope::kGroup,
      .baseline = E::Baseline::kMean,
      .scale = E::Scale::kStd,
      .members = E::Members::kEveryone,
      .epsilon = 1e-6,
      .smallest_std = 1e-6}},
    {"rloo",
     {.unit = E::Unit::kTrajectory,
      .value = E::Value::kLast,
      .scope = E::Scope::kGroup,
      .single = E::Single::kZero,
      .members = E::Members::kEveryone}},
    {"dr_grpo",
     {.unit = E::Unit::kTrajectory,
      .value = E::Value::kLast,
      .scope = E::Scope::kGroup,
      .baseline = E::Baseline::kMean,
      .members = E::Members::kEveryone}},
    {"remax",
     {.unit = E::Unit::kTrajectory,
      .value = E::Value::kLast,
      .scope = E::Scope::kGroup,
      .baseline = E::Baseline::kGiven,
      .members = E::Members::kEveryone}},
    {"last_optimal_baseline",
     {.unit = E::Unit::kTrajectory,
      .value = E::Value::kLast,
      .scope = E::Scope::kGroup,
      .baseline = E::Baseline::kOptimal,
      .members = E::Members::kEveryone}},
});

Status CheckAdvantages(const Index& index, const Rows& rows, const Estimator& estimator,
                       const ReturnOptions& returns, const AdvantageInputs& inputs) {
  const size_t n = index.rows();
  ASSAY_RETURN_IF_ERROR(CheckSize("turn", rows.turn.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", rows.reward.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", rows.keep.size(), n, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("trained", inputs.trained.size(), n, true));
  const bool optimal = estimator.baseline == E::Baseline::kOptimal;
  const bool given = estimator.baseline == E::Baseline::kGiven;
  ASSAY_RETURN_IF_ERROR(CheckSize("weight", inputs.weight.size(), n, !optimal));
  ASSAY_RETURN_IF_ERROR(CheckSize("baseline", inputs.baseline.size(), n, !given));
  for (size_t i = 0; i < n; ++i) {
    if (index.is_padding(i)) continue;
    const bool kept = Kept(rows.keep, i);
    if (optimal && kept && !std::isfinite(inputs.weight[i])) {
      return Err(ErrorCode::kInvalid, "row {}: weight is {}, no finite number", i,
                 inputs.weight[i]);
    }
    // A void last turn of a trajectory that is a member all the same counts as 0 - baseline.
    const bool read = kept || estimator.members == E::Members::kEveryone;
    if (given && read && !std::isfinite(inputs.baseline[i])) {
      return Err(ErrorCode::kInvalid, "row {}: baseline is {}, no finite number", i,
                 inputs.baseline[i]);
    }
  }
  if (returns.shaping && !estimator.allows_shaping) {
    return Err(ErrorCode::kInvalid,
               "reward shaping is not defined for trloo; use another estimator or shaping = false");
  }
  const bool per_turn =
      estimator.value == E::Value::kReturn || estimator.value == E::Value::kReward;
  if (per_turn != (estimator.unit == E::Unit::kTurn)) {
    return Err(ErrorCode::kInvalid,
               "returns and rewards are compared by turn, totals and last rewards by trajectory");
  }
  if (estimator.unit == E::Unit::kTrajectory && estimator.scope == E::Scope::kGroupTurn) {
    return Err(ErrorCode::kInvalid, "trajectories are compared by group or by batch, not by turn");
  }
  return {};
}

}  // namespace

Result<Estimator::Single> FindSingle(std::string_view name) {
  if (name == "raw") return Estimator::Single::kRaw;
  if (name == "zero") return Estimator::Single::kZero;
  if (name == "turn_mean") return Estimator::Single::kTurnMean;
  if (name == "group_mean") return Estimator::Single::kGroupMean;
  return Err(ErrorCode::kInvalid,
             "no rule '{}' for a population of one; use raw, zero, turn_mean or group_mean", name);
}

Result<Estimator> WithScale(Estimator estimator, std::string_view name) {
  if (name == "none") {
    estimator.scale = Estimator::Scale::kNone;
    return estimator;
  }
  if (name == "std") {
    estimator.scale = Estimator::Scale::kStd;
  } else if (name == "leave_one_out_std") {
    estimator.scale = Estimator::Scale::kLeaveOneOutStd;
  } else {
    return Err(ErrorCode::kInvalid, "no normalisation '{}'; use none, std or leave_one_out_std",
               name);
  }
  if (estimator.epsilon == 0) estimator.epsilon = 1e-8;
  return estimator;
}

Result<Estimator> FindEstimator(std::string_view name) {
  std::string names;
  for (const Named& named : kNamed) {
    if (named.name == name) return named.estimator;
    names += (names.empty() ? "" : ", ") + std::string(named.name);
  }
  return Err(ErrorCode::kNotFound, "no estimator '{}'; there are {}", name, names);
}

Result<Advantages> ComputeAdvantages(const Index& index, const Rows& rows,
                                     const Estimator& estimator, const ReturnOptions& returns,
                                     const AdvantageInputs& inputs) {
  ASSAY_RETURN_IF_ERROR(CheckAdvantages(index, rows, estimator, returns, inputs));
  const size_t n = index.rows();
  Advantages result{std::vector<double>(n), std::vector<double>(n), std::vector<uint32_t>(n)};

  std::vector<Item> items;
  if (estimator.unit == E::Unit::kTurn) {
    ReturnOptions options = returns;
    if (estimator.value == E::Value::kReward) options.kind = ReturnKind::kNone;
    ASSAY_RETURN_IF_ERROR(Returns(index, rows, options, result.value));
    items = TurnItems(index, rows, estimator, inputs, result.value);
  } else {
    items = TrajectoryItems(index, rows, estimator, inputs);
  }
  const bool any = std::ranges::any_of(items, [](const Item& item) { return item.member; });
  if (estimator.scope == E::Scope::kBatch && !any) {
    return Err(ErrorCode::kInvalid, "no row is kept, so the batch has no mean to subtract");
  }

  const std::vector<Scored> scored = Scorer(estimator, items).Run();
  for (size_t row = 0; row < n; ++row) {
    const size_t item = estimator.unit == E::Unit::kTurn ? row : index.trajectory_of(row);
    result.advantage[row] = scored[item].advantage;
    result.population[row] = index.is_padding(row) ? 0 : scored[item].population;
    if (estimator.unit == E::Unit::kTrajectory) result.value[row] = items[item].value;
    if (!std::isfinite(result.advantage[row])) {
      return Err(ErrorCode::kInvalid,
                 "row {}: the advantage comes out as {}; rewards or weights there are too large",
                 row, result.advantage[row]);
    }
  }
  return result;
}

}  // namespace assay::rl
