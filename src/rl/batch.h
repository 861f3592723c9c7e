#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace assay::rl {

/// Named figures in the order in which they were computed.
using Metrics = std::vector<std::pair<std::string, double>>;

/// One row is one turn of one trajectory (a conversation). Rows stand in any order, trajectories
/// may have different numbers of turns, and nothing is padded; rows that an engine added as padding
/// are told by a negative turn. All spans have one length, or are empty where the comment says so.
/// The memory belongs to the caller.
struct Rows {
  std::span<const int64_t> group;       ///< the prompt; samples of one prompt share it
  std::span<const int64_t> trajectory;  ///< unique in the batch, one group each
  std::span<const int64_t> turn;        ///< ascending within a trajectory (0- or 1-based)
  std::span<const double> reward;       ///< of this turn alone
  std::span<const uint8_t> keep;        ///< 0: void, its reward counts as 0; empty: all kept
};

/// What the evaluation said about each row; every span may be empty where a function says so.
struct Outcomes {
  std::span<const uint8_t> correct;  ///< correct and no integrity violation
  std::span<const double> speedup;   ///< reference time over candidate time
  std::span<const double> coverage;  ///< share of the time in the submission's own kernels
};

/// Per-token arrays of all rows end to end: row i owns [offsets[i], offsets[i + 1]). A dense
/// (rows, width) array is the case offsets[i] = i * width. T is float or double.
template <typename T>
struct Tokens {
  std::span<const int64_t> offsets;  ///< rows + 1, ascending from 0
  std::span<const T> logp_train;     ///< log-probability of the sampled token, training engine
  std::span<const T> logp_rollout;   ///< the same by the inference engine that sampled it
};

/// Who belongs to whom: rows resolved into trajectories, groups, and (group, turn) cells, each
/// numbered from 0 in order of first appearance. Immutable; holds no reference to its input.
class Index {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  /// Fails with kInvalid, naming the row, if lengths differ, a trajectory is in two groups, a
  /// trajectory has one turn twice, or a kept reward is not finite.
  static Result<Index> Build(const Rows& rows);

  [[nodiscard]] size_t rows() const { return group_of_.size(); }
  [[nodiscard]] size_t trajectories() const { return begin_.size() - 1; }
  [[nodiscard]] size_t groups() const { return groups_; }
  [[nodiscard]] size_t cells() const { return cells_; }

  /// The trajectory's rows in the order of their turns; padding rows come first.
  [[nodiscard]] std::span<const uint32_t> turns_of(size_t trajectory) const {
    return std::span(order_).subspan(begin_[trajectory],
                                     begin_[trajectory + 1] - begin_[trajectory]);
  }
  /// The trajectory's last turn, or kNone if it has only padding.
  [[nodiscard]] uint32_t last_of(size_t trajectory) const;
  [[nodiscard]] uint32_t trajectory_of(size_t row) const { return trajectory_of_[row]; }
  [[nodiscard]] uint32_t group_of(size_t row) const { return group_of_[row]; }
  [[nodiscard]] uint32_t group_of_trajectory(size_t trajectory) const {
    return group_of_[order_[begin_[trajectory]]];
  }
  /// (group, turn); kNone on padding.
  [[nodiscard]] uint32_t cell_of(size_t row) const { return cell_of_[row]; }
  [[nodiscard]] bool is_padding(size_t row) const { return cell_of_[row] == kNone; }
  /// Whether some trajectory has more than one row, padding included.
  [[nodiscard]] bool multi_turn() const { return multi_turn_; }

 private:
  std::vector<uint32_t> order_;  // rows by (trajectory, turn)
  std::vector<size_t> begin_;    // trajectories + 1 positions in order_
  std::vector<uint32_t> trajectory_of_;
  std::vector<uint32_t> group_of_;
  std::vector<uint32_t> cell_of_;
  size_t groups_ = 0;
  size_t cells_ = 0;
  bool multi_turn_ = false;
};

/// Whether the row's reward counts: not void.
inline bool Kept(std::span<const uint8_t> keep, size_t row) {
  return keep.empty() || keep[row] != 0;
}

/// kInvalid unless offsets are rows + 1 ascending positions from 0 to `tokens`.
Status CheckOffsets(std::span<const int64_t> offsets, size_t rows, size_t tokens);

/// kInvalid unless `size` is `expected` (or 0 when `optional`).
Status CheckSize(const char* name, size_t size, size_t expected, bool optional = false);

}  // namespace assay::rl
