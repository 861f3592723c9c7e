#include "rl/batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace assay::rl {
namespace {

/// Numbers ids from 0 in order of first appearance; returns how many there are.
size_t Number(std::span<const int64_t> ids, std::vector<uint32_t>& out) {
  std::unordered_map<int64_t, uint32_t> numbers;
  numbers.reserve(ids.size());
  out.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    out[i] = numbers.try_emplace(ids[i], static_cast<uint32_t>(numbers.size())).first->second;
  }
  return numbers.size();
}

}  // namespace

Status CheckSize(const char* name, size_t size, size_t expected, bool optional) {
  if (size == expected || (optional && size == 0)) return {};
  return Err(ErrorCode::kInvalid, "{} has {} entries, expected {}{}", name, size, expected,
             size == 0 ? "; it is needed here" : "");
}

Status CheckOffsets(std::span<const int64_t> offsets, size_t rows, size_t tokens) {
  ASSAY_RETURN_IF_ERROR(CheckSize("offsets", offsets.size(), rows + 1));
  if (offsets.front() != 0 || offsets.back() != static_cast<int64_t>(tokens)) {
    return Err(ErrorCode::kInvalid,
               "offsets must run from 0 to the number of tokens ({}), not {} to {}", tokens,
               offsets.front(), offsets.back());
  }
  for (size_t i = 0; i < rows; ++i) {
    if (offsets[i] > offsets[i + 1]) {
      return Err(ErrorCode::kInvalid, "offsets decrease at row {}", i);
    }
  }
  return {};
}

Result<Index> Index::Build(const Rows& rows) {
  const size_t n = rows.group.size();
  ASSAY_RETURN_IF_ERROR(CheckSize("trajectory", rows.trajectory.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("turn", rows.turn.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", rows.reward.size(), n, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", rows.keep.size(), n, true));
  if (n >= kNone) return Err(ErrorCode::kInvalid, "{} rows are too many for one batch", n);
  for (size_t i = 0; i < rows.reward.size(); ++i) {
    if (rows.turn[i] >= 0 && Kept(rows.keep, i) && !std::isfinite(rows.reward[i])) {
      return Err(ErrorCode::kInvalid,
                 "row {}: reward is {}; drop the trajectory or set keep to 0 for that turn", i,
                 rows.reward[i]);
    }
  }

  Index index;
  index.groups_ = Number(rows.group, index.group_of_);
  const size_t trajectories = Number(rows.trajectory, index.trajectory_of_);
  const auto& trajectory_of = index.trajectory_of_;

  index.order_.resize(n);
  std::iota(index.order_.begin(), index.order_.end(), 0U);
  const auto key = [&](uint32_t row) {
    return std::tuple(trajectory_of[row], std::max<int64_t>(rows.turn[row], -1), row);
  };
  std::ranges::sort(index.order_, {}, key);

  index.begin_.reserve(trajectories + 1);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = index.order_[i];
    const bool first = i == 0 || trajectory_of[row] != trajectory_of[index.order_[i - 1]];
    if (first) {
      index.begin_.push_back(i);
      continue;
    }
    const uint32_t before = index.order_[i - 1];
    if (index.group_of_[row] != index.group_of_[before]) {
      return Err(ErrorCode::kInvalid, "trajectory {} is in groups {} and {} (rows {} and {})",
                 rows.trajectory[row], rows.group[before], rows.group[row], before, row);
    }
    // Padding counts here: an engine that pads plays several turns, whether it got to them or not.
    index.multi_turn_ = true;
    if (rows.turn[row] >= 0 && rows.turn[row] == rows.turn[before]) {
      return Err(
          ErrorCode::kInvalid,
          "trajectory {} has turn {} twice (rows {} and {}); give copies of rows a trajectory "
          "and a group of their own",
          rows.trajectory[row], rows.turn[row], before, row);
    }
  }
  index.begin_.push_back(n);

  std::vector<uint32_t> by_cell;
  by_cell.reserve(n);
  for (uint32_t row = 0; row < n; ++row) {
    if (rows.turn[row] >= 0) by_cell.push_back(row);
  }
  std::ranges::sort(by_cell, {}, [&](uint32_t row) {
    return std::tuple(index.group_of_[row], rows.turn[row], row);
  });
  index.cell_of_.assign(n, kNone);
  for (size_t i = 0; i < by_cell.size(); ++i) {
    const uint32_t row = by_cell[i];
    const bool same = i > 0 && index.group_of_[row] == index.group_of_[by_cell[i - 1]] &&
                      rows.turn[row] == rows.turn[by_cell[i - 1]];
    if (!same) ++index.cells_;
    index.cell_of_[row] = static_cast<uint32_t>(index.cells_ - 1);
  }
  return index;
}

uint32_t Index::last_of(size_t trajectory) const {
  const uint32_t last = turns_of(trajectory).back();
  return is_padding(last) ? kNone : last;
}

}  // namespace assay::rl
