#include "rl/returns.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::rl {
namespace {

/// One trajectory's rewards become its returns, in place.
void Credit(const ReturnOptions& options, std::vector<double>& r) {
  const size_t turns = r.size();
  if (options.shaping) {
    if (options.unbiased_shaping) r.back() *= 1.0 - options.gamma;
    for (size_t t = turns - 1; t > 0; --t) r[t] -= r[t - 1];
  }
  const auto to_go = [&] {
    for (size_t t = turns - 1; t > 0; --t) r[t - 1] += options.gamma * r[t];
  };
  switch (options.kind) {
    case ReturnKind::kNone:
      break;
    case ReturnKind::kRewardToGo:
      to_go();
      break;
    case ReturnKind::kMaxToGo:
      for (size_t t = turns - 1; t > 0; --t) r[t - 1] = std::max(r[t - 1], options.gamma * r[t]);
      break;
    case ReturnKind::kBestDelta: {
      double best = 0.0;
      for (double& value : r) {
        const double gain = std::max(0.0, value - best);
        best = std::max(best, value);
        value = gain;
      }
      to_go();
      break;
    }
    case ReturnKind::kFirst: {
      const auto first = std::ranges::find_if(r, [](double value) { return value > 0; });
      if (first != r.end()) std::fill(first + 1, r.end(), 0.0);
      std::fill(r.begin(), first, 0.0);
      to_go();
      break;
    }
    case ReturnKind::kLast:
      for (size_t t = turns - 1; t > 0; --t) r[t - 1] = options.gamma * r[t];
      break;
    case ReturnKind::kBest: {
      const double best = *std::ranges::max_element(r);
      std::ranges::fill(r, best);
      break;
    }
  }
}

}  // namespace

Result<ReturnKind> FindReturnKind(std::string_view name) {
  if (name == "reward_to_go" || name == "kevin") return ReturnKind::kRewardToGo;
  if (name == "max_to_go") return ReturnKind::kMaxToGo;
  if (name == "best_delta") return ReturnKind::kBestDelta;
  if (name == "first") return ReturnKind::kFirst;
  if (name == "last") return ReturnKind::kLast;
  if (name == "max") return ReturnKind::kBest;
  if (name == "none") return ReturnKind::kNone;
  return Err(ErrorCode::kInvalid,
             "no return kind '{}'; use reward_to_go, kevin, max_to_go, best_delta, first, last, "
             "max or none",
             name);
}

Status Returns(const Index& index, const Rows& rows, const ReturnOptions& options,
               std::span<double> out) {
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", rows.reward.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", rows.keep.size(), index.rows(), true));
  ASSAY_RETURN_IF_ERROR(CheckSize("the output", out.size(), index.rows()));
  if (!(options.gamma >= 0.0 && options.gamma <= 1.0)) {
    return Err(ErrorCode::kInvalid, "gamma is {}; it must be in [0, 1]", options.gamma);
  }
  std::vector<double> r;
  for (size_t i = 0; i < index.trajectories(); ++i) {
    const auto turns = index.turns_of(i);
    r.clear();
    for (const uint32_t row : turns) {
      const bool counts = Kept(rows.keep, row) && !index.is_padding(row);
      r.push_back(counts ? rows.reward[row] : 0.0);
    }
    Credit(options, r);
    for (size_t t = 0; t < turns.size(); ++t) out[turns[t]] = r[t];
  }
  return {};
}

Status VoidTurns(const Index& index, std::span<const double> reward,
                 std::span<const uint8_t> failed, bool mask_void_turn, std::span<uint8_t> keep) {
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", reward.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("failed", failed.size(), index.rows(), true));
  ASSAY_RETURN_IF_ERROR(CheckSize("the output", keep.size(), index.rows()));
  for (size_t i = 0; i < index.trajectories(); ++i) {
    const auto turns = index.turns_of(i);
    const bool broken = !failed.empty() &&
                        std::ranges::any_of(turns, [&](uint32_t row) { return failed[row] != 0; });
    double best = -std::numeric_limits<double>::infinity();
    for (const uint32_t row : turns) {
      keep[row] = 0;
      if (index.is_padding(row)) continue;
      if (std::isnan(reward[row])) {
        return Err(ErrorCode::kInvalid,
                   "row {}: reward is nan; set failed for that trajectory and "
                   "give the turn reward 0",
                   row);
      }
      const bool is_void = mask_void_turn && best > 0.0 && reward[row] <= 0.0;
      best = std::max(best, reward[row]);
      keep[row] = static_cast<uint8_t>(!broken && !is_void);
    }
  }
  return {};
}

}  // namespace assay::rl
