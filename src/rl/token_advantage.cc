#include "rl/token_advantage.h"

#include <algorithm>
#include <cmath>

#include "rl/parallel.h"

namespace assay::rl {
namespace {

constexpr double kVarianceEpsilon = 1e-8;
constexpr double kWeightEpsilon = 1e-8;

bool Trained(TokenState state) { return (state & kTrained) != 0; }

/// Whitens over trained tokens, 0 elsewhere. Two passes over row sums: deterministic.
template <typename T>
void Whiten(std::span<const int64_t> offsets, std::span<const TokenState> state,
            std::span<T> values) {
  const size_t rows = offsets.size() - 1;
  std::vector<double> sums(rows);
  double n = 0;
  const auto total = [&](const auto& figure) {
    ForRows(offsets, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        double sum = 0;
        for (auto j = static_cast<size_t>(offsets[row]); j < static_cast<size_t>(offsets[row + 1]);
             ++j) {
          if (Trained(state[j])) sum += figure(static_cast<double>(values[j]));
        }
        sums[row] = sum;
      }
    });
    double sum = 0;
    for (const double s : sums) sum += s;
    return sum;
  };
  n = total([](double) { return 1.0; });
  const double mean = n == 0 ? 0.0 : total([](double x) { return x; }) / n;
  const double squares = total([&](double x) { return (x - mean) * (x - mean); });
  const double scale = 1.0 / std::sqrt((n < 2 ? 0.0 : squares / (n - 1)) + kVarianceEpsilon);
  for (size_t j = 0; j < values.size(); ++j) {
    values[j] =
        Trained(state[j]) ? static_cast<T>((static_cast<double>(values[j]) - mean) * scale) : T{0};
  }
}

template <typename T>
Status CheckTokenArrays(std::span<const int64_t> offsets, std::span<const TokenState> state,
                        const TokenRewards<T>& rewards, double gamma, size_t advantage,
                        size_t returns) {
  if (offsets.empty())
    return Err(ErrorCode::kInvalid, "offsets is empty; it needs rows + 1 entries");
  ASSAY_RETURN_IF_ERROR(CheckOffsets(offsets, offsets.size() - 1, state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", rewards.row.size(), offsets.size() - 1));
  ASSAY_RETURN_IF_ERROR(CheckSize("token reward", rewards.token.size(), state.size(), true));
  ASSAY_RETURN_IF_ERROR(CheckSize("advantage", advantage, state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("returns", returns, state.size()));
  if (!(gamma >= 0 && gamma <= 1)) {
    return Err(ErrorCode::kInvalid, "gamma is {}; it must be in [0, 1]", gamma);
  }
  return {};
}

/// One figure that is not finite would spread over the batch with its mean.
template <typename T>
Status CheckFinite(const char* what, std::span<const int64_t> offsets,
                   std::span<const TokenState> state, std::span<const T> values) {
  for (size_t row = 0; row + 1 < offsets.size(); ++row) {
    for (auto j = static_cast<size_t>(offsets[row]); j < static_cast<size_t>(offsets[row + 1]);
         ++j) {
      if (!InPopulation(state[j]) || std::isfinite(values[j])) continue;
      return Err(ErrorCode::kInvalid,
                 "row {}: a response token's {} comes out as {}; check what is given for that row",
                 row, what, values[j]);
    }
  }
  return {};
}

/// Calls step(j, reward) for each row's population tokens from last to first.
template <typename T, typename Start, typename Step>
void Backwards(std::span<const int64_t> offsets, std::span<const TokenState> state,
               const TokenRewards<T>& rewards, const Start& start, const Step& step) {
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      auto carried = start();
      double reward = rewards.row[row];
      for (int64_t at = offsets[row + 1]; at-- > offsets[row];) {
        const auto j = static_cast<size_t>(at);
        if (!InPopulation(state[j])) continue;
        if (!rewards.token.empty()) reward += static_cast<double>(rewards.token[j]);
        step(j, reward, carried);
        reward = 0;
      }
    }
  });
}

}  // namespace

template <typename T>
Status GeneralizedAdvantages(std::span<const int64_t> offsets, std::span<const TokenState> state,
                             const TokenRewards<T>& rewards, std::span<const T> values,
                             double gamma, double lambda, bool whiten, std::span<T> advantage,
                             std::span<T> returns) {
  ASSAY_RETURN_IF_ERROR(
      CheckTokenArrays(offsets, state, rewards, gamma, advantage.size(), returns.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("values", values.size(), state.size()));
  if (!(lambda >= 0 && lambda <= 1)) {
    return Err(ErrorCode::kInvalid, "lambda is {}; it must be in [0, 1]", lambda);
  }
  std::ranges::fill(advantage, T{0});
  std::ranges::fill(returns, T{0});
  struct Carried {
    double value = 0;
    double advantage = 0;
  };
  Backwards(
      offsets, state, rewards, [] { return Carried(); },
      [&](size_t j, double reward, Carried& next) {
        const auto value = static_cast<double>(values[j]);
        const double delta = reward + gamma * next.value - value;
        next = {value, delta + gamma * lambda * next.advantage};
        advantage[j] = static_cast<T>(next.advantage);
        returns[j] = static_cast<T>(next.advantage + value);
      });
  ASSAY_RETURN_IF_ERROR(CheckFinite<T>("advantage", offsets, state, advantage));
  ASSAY_RETURN_IF_ERROR(CheckFinite<T>("return", offsets, state, returns));
  if (whiten) {
    Whiten(offsets, state, advantage);
  } else {
    for (size_t j = 0; j < state.size(); ++j)
      advantage[j] = Trained(state[j]) ? advantage[j] : T{0};
  }
  return {};
}

template <typename T>
Status ReinforcePlusPlus(std::span<const int64_t> offsets, std::span<const TokenState> state,
                         const TokenRewards<T>& rewards, double gamma, std::span<T> advantage,
                         std::span<T> returns) {
  ASSAY_RETURN_IF_ERROR(
      CheckTokenArrays(offsets, state, rewards, gamma, advantage.size(), returns.size()));
  std::ranges::fill(returns, T{0});
  Backwards(
      offsets, state, rewards, [] { return 0.0; },
      [&](size_t j, double reward, double& next) {
        next = reward + gamma * next;
        returns[j] = static_cast<T>(next);
      });
  ASSAY_RETURN_IF_ERROR(CheckFinite<T>("return", offsets, state, returns));
  std::ranges::copy(returns, advantage.begin());
  Whiten(offsets, state, advantage);
  return {};
}

template <typename T>
Status ScoreNorms(std::span<const int64_t> offsets, std::span<const TokenState> state,
                  std::span<const T> logp_old, std::span<const T> sum_pi_squared,
                  std::span<const T> importance_weights, const ScoreNormOptions& options,
                  std::span<T> weight) {
  if (offsets.empty())
    return Err(ErrorCode::kInvalid, "offsets is empty; it needs rows + 1 entries");
  ASSAY_RETURN_IF_ERROR(CheckOffsets(offsets, offsets.size() - 1, state.size()));
  const bool uniform = options.uniform_weight || options.uniform_cumulative;
  if (options.uniform_weight && options.uniform_cumulative) {
    return Err(ErrorCode::kInvalid, "choose one of uniform_weight and uniform_cumulative");
  }
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_old", logp_old.size(), state.size(), uniform));
  ASSAY_RETURN_IF_ERROR(CheckSize("sum_pi_squared", sum_pi_squared.size(), state.size(), uniform));
  ASSAY_RETURN_IF_ERROR(
      CheckSize("importance_weights", importance_weights.size(), state.size(), true));
  ASSAY_RETURN_IF_ERROR(CheckSize("weight", weight.size(), state.size()));
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const auto first = static_cast<size_t>(offsets[row]);
      const auto last = static_cast<size_t>(offsets[row + 1]);
      const auto tokens = std::count_if(state.begin() + offsets[row],
                                        state.begin() + offsets[row + 1], InPopulation);
      for (size_t j = first; j < last; ++j) {
        weight[j] = T{0};
        if (!InPopulation(state[j])) continue;
        double w = options.uniform_cumulative ? 1.0 / static_cast<double>(tokens) : 1.0;
        if (!uniform) {
          w = 1.0 - 2.0 * std::exp(static_cast<double>(logp_old[j])) +
              static_cast<double>(sum_pi_squared[j]);
        }
        if (!importance_weights.empty()) {
          const auto rho = static_cast<double>(importance_weights[j]);
          w *= rho * rho;
        }
        weight[j] = static_cast<T>(w);
      }
    }
  });
  return {};
}

template <typename T>
std::vector<double> SumPerRow(std::span<const int64_t> offsets, std::span<const T> values) {
  std::vector<double> sums(offsets.size() - 1, 0.0);
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      for (auto j = static_cast<size_t>(offsets[row]); j < static_cast<size_t>(offsets[row + 1]);
           ++j) {
        sums[row] += static_cast<double>(values[j]);
      }
    }
  });
  return sums;
}

template <typename T>
Status TokenOptimalBaseline(const Index& index, std::span<const uint8_t> keep,
                            std::span<const double> value, std::span<const int64_t> offsets,
                            std::span<const TokenState> state, std::span<const T> weight,
                            std::span<T> advantage) {
  const size_t rows = index.rows();
  ASSAY_RETURN_IF_ERROR(CheckOffsets(offsets, rows, state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", keep.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("value", value.size(), rows));
  ASSAY_RETURN_IF_ERROR(CheckSize("weight", weight.size(), state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("advantage", advantage.size(), state.size()));
  std::ranges::fill(advantage, T{0});

  // W before each row: the weight of the trajectory's earlier turns.
  std::vector<double> before = SumPerRow(offsets, weight);
  for (size_t t = 0; t < index.trajectories(); ++t) {
    double sum = 0;
    for (const uint32_t row : index.turns_of(t)) sum += std::exchange(before[row], sum);
  }
  std::vector<std::vector<uint32_t>> cells(index.cells());
  for (uint32_t row = 0; row < rows; ++row) {
    if (!index.is_padding(row) && Kept(keep, row)) cells[index.cell_of(row)].push_back(row);
  }
  std::vector<double> weighted;
  std::vector<double> weights;
  for (const std::vector<uint32_t>& cell : cells) {
    weighted.clear();
    weights.clear();
    // First pass: the sums per position. Second pass: the advantages.
    const auto visit = [&](uint32_t row, const auto& at_position) {
      double w = before[row];
      for (auto j = static_cast<size_t>(offsets[row]); j < static_cast<size_t>(offsets[row + 1]);
           ++j) {
        w += static_cast<double>(weight[j]);
        if (InPopulation(state[j])) at_position(j, j - static_cast<size_t>(offsets[row]), w);
      }
    };
    if (cell.size() > 1) {
      for (const uint32_t row : cell) {
        visit(row, [&](size_t, size_t position, double w) {
          if (position >= weights.size()) {
            weights.resize(position + 1, 0.0);
            weighted.resize(position + 1, 0.0);
          }
          weighted[position] += value[row] * w;
          weights[position] += w;
        });
      }
    }
    for (const uint32_t row : cell) {
      visit(row, [&](size_t j, size_t position, double) {
        if (!Trained(state[j])) return;
        const double baseline =
            cell.size() > 1 ? weighted[position] / (weights[position] + kWeightEpsilon) : 0.0;
        advantage[j] = static_cast<T>(value[row] - baseline);
      });
    }
  }
  return CheckFinite<T>("advantage", offsets, state, advantage);
}

#define ASSAY_INSTANTIATE(T)                                                                      \
  template Status GeneralizedAdvantages<T>(std::span<const int64_t>, std::span<const TokenState>, \
                                           const TokenRewards<T>&, std::span<const T>, double,    \
                                           double, bool, std::span<T>, std::span<T>);             \
  template Status ReinforcePlusPlus<T>(std::span<const int64_t>, std::span<const TokenState>,     \
                                       const TokenRewards<T>&, double, std::span<T>,              \
                                       std::span<T>);                                             \
  template Status ScoreNorms<T>(std::span<const int64_t>, std::span<const TokenState>,            \
                                std::span<const T>, std::span<const T>, std::span<const T>,       \
                                const ScoreNormOptions&, std::span<T>);                           \
  template std::vector<double> SumPerRow<T>(std::span<const int64_t>, std::span<const T>);        \
  template Status TokenOptimalBaseline<T>(                                                        \
      const Index&, std::span<const uint8_t>, std::span<const double>, std::span<const int64_t>,  \
      std::span<const TokenState>, std::span<const T>, std::span<T>);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::rl
