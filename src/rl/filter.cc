#include "rl/filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "rl/random.h"

namespace assay::rl {
namespace {

struct Sample {
  uint32_t trajectory = 0;
  int64_t id = 0;
  double reward = 0;
  double length = 1;
};

struct Group {
  int64_t id = 0;
  std::vector<Sample> samples;
};

/// Keys that separate the uses of one seed: turn numbers no trajectory has.
constexpr uint32_t kGroupDraw = 0xFFFFFFFE;
constexpr uint32_t kSampleDraw = 0xFFFFFFFD;

double StdOf(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double first = values.front();
  double mean = 0;
  for (const double v : values) mean += v - first;
  mean = first + mean / n;
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / (n - 1));
}

class Filter {
 public:
  Filter(const Index& index, const Rows& rows, std::span<const int64_t> length,
         const FilterOptions& options)
      : index_(index), rows_(rows), length_(length), options_(options) {}

  Filtered Run() {
    Collect();
    const auto before = static_cast<double>(groups_.size());
    const double flat = DropGroups([&](const Group& g) { return !HasSignal(g); });
    const double low = DropSamplesBelow();
    const double small = DropGroups([&](const Group& g) { return TooSmall(g); });
    const double lengthy = DropGroups([&](const Group& g) { return TooLong(g); });
    const double over = LimitGroups();
    const double extra = LimitSamples();

    Filtered out;
    std::vector<uint8_t> chosen(index_.trajectories(), 0);
    for (const Group& group : groups_) {
      for (const Sample& sample : group.samples) chosen[sample.trajectory] = 1;
      out.samples += static_cast<int64_t>(group.samples.size());
    }
    out.groups = static_cast<int64_t>(groups_.size());
    out.keep.resize(index_.rows());
    for (size_t row = 0; row < out.keep.size(); ++row) {
      out.keep[row] = chosen[index_.trajectory_of(row)];
    }
    out.metrics = {{"groups", before},
                   {"groups_without_signal", flat},
                   {"groups_too_small", small},
                   {"groups_too_long", lengthy},
                   {"groups_over", over},
                   {"samples_over", extra},
                   {"samples_below_threshold", low}};
    return out;
  }

 private:
  [[nodiscard]] double RewardOf(uint32_t row) const {
    return Kept(rows_.keep, row) ? rows_.reward[row] : 0.0;
  }

  void Collect() {
    groups_.resize(index_.groups());
    for (uint32_t t = 0; t < index_.trajectories(); ++t) {
      const uint32_t last = index_.last_of(t);
      if (last == Index::kNone) continue;
      Sample sample{t, rows_.trajectory[last], RewardOf(last), 1};
      if (!length_.empty()) sample.length = static_cast<double>(length_[last]);
      Group& group = groups_[index_.group_of(last)];
      group.id = rows_.group[last];
      group.samples.push_back(sample);
    }
    std::erase_if(groups_, [](const Group& g) { return g.samples.empty(); });
    // By id, so that the order of rows decides nothing.
    for (Group& group : groups_) std::ranges::sort(group.samples, {}, &Sample::id);
    std::ranges::sort(groups_, {}, &Group::id);
  }

  template <typename Predicate>
  double DropGroups(Predicate predicate) {
    return static_cast<double>(std::erase_if(groups_, predicate));
  }

  [[nodiscard]] bool HasSignal(const Group& group) const {
    if (group.samples.size() < 2) return true;
    std::map<int64_t, std::vector<double>> by_turn;
    for (const Sample& sample : group.samples) {
      if (options_.signal == FilterOptions::Signal::kLastTurn) {
        by_turn[0].push_back(sample.reward);
        continue;
      }
      for (const uint32_t row : index_.turns_of(sample.trajectory)) {
        if (!index_.is_padding(row) && Kept(rows_.keep, row)) {
          by_turn[rows_.turn[row]].push_back(rows_.reward[row]);
        }
      }
    }
    return std::ranges::any_of(by_turn, [&](const auto& turn) {
      return turn.second.size() > 1 && StdOf(turn.second) >= options_.smallest_std;
    });
  }

  double DropSamplesBelow() {
    double dropped = 0;
    for (Group& group : groups_) {
      dropped += static_cast<double>(std::erase_if(
          group.samples, [&](const Sample& s) { return s.reward < options_.reward_threshold; }));
    }
    return dropped;
  }

  [[nodiscard]] bool TooSmall(const Group& group) const {
    int64_t smallest = options_.min_group_size;
    if (smallest == 0 && options_.samples_per_group > 0)
      smallest = options_.samples_per_group / 2 + 1;
    return static_cast<int64_t>(group.samples.size()) < std::max<int64_t>(smallest, 1);
  }

  [[nodiscard]] bool TooLong(const Group& group) const {
    if (options_.max_length <= 0) return false;
    const auto shorter = std::ranges::count_if(group.samples, [&](const Sample& s) {
      return s.length < static_cast<double>(options_.max_length);
    });
    return shorter < std::max<int64_t>(options_.min_short, 1);
  }

  [[nodiscard]] double Draw(int64_t id, uint32_t use) const {
    return UniformAt(options_.seed, options_.step, static_cast<uint64_t>(id), use);
  }

  double LimitGroups() {
    const auto limit = static_cast<size_t>(options_.max_groups);
    if (limit == 0 || groups_.size() <= limit) return 0;
    std::ranges::sort(groups_, {}, [&](const Group& g) {
      const bool complete = static_cast<int64_t>(g.samples.size()) >= options_.samples_per_group;
      return std::tuple(!complete, Draw(g.id, kGroupDraw), g.id);
    });
    const auto dropped = static_cast<double>(groups_.size() - limit);
    groups_.resize(limit);
    return dropped;
  }

  /// What a sample is worth; the higher the sooner it is taken.
  [[nodiscard]] double Priority(const Sample& sample) const {
    const double u = Draw(sample.id, kSampleDraw);
    if (options_.strategy == FilterOptions::Strategy::kUniform) return u;
    const double length = std::max(1.0, sample.length);
    const double worth = sample.reward > 0 ? sample.reward / length : 1.0 / length;
    if (options_.strategy == FilterOptions::Strategy::kEfficiency) return worth;
    // Smallest exponential time first: sampling without replacement with probability ~ worth.
    return std::log1p(-u) / worth;
  }

  static void Take(std::vector<Sample>& from, size_t n, std::vector<Sample>& to,
                   const auto& priority) {
    std::ranges::stable_sort(from, std::ranges::greater(), priority);
    to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n));
  }

  double LimitSamples() {
    const auto limit = static_cast<size_t>(options_.samples_per_group);
    if (limit == 0) return 0;
    double dropped = 0;
    const auto priority = [&](const Sample& s) { return Priority(s); };
    for (Group& group : groups_) {
      const size_t n = group.samples.size();
      if (n <= limit) continue;
      dropped += static_cast<double>(n - limit);
      std::vector<Sample> positive;
      std::vector<Sample> others;
      for (const Sample& s : group.samples) (s.reward > 0 ? positive : others).push_back(s);
      size_t take = (2 * limit * positive.size() + n) / (2 * n);  // rounded share
      if (!positive.empty() && limit > 1) take = std::max<size_t>(take, 1);
      if (!others.empty() && limit > 1) take = std::min(take, limit - 1);
      take = std::clamp(take, limit - std::min(limit, others.size()),
                        std::min(limit, positive.size()));
      group.samples.clear();
      Take(positive, take, group.samples, priority);
      Take(others, limit - take, group.samples, priority);
    }
    return dropped;
  }

  const Index& index_;
  const Rows& rows_;
  std::span<const int64_t> length_;
  const FilterOptions& options_;
  std::vector<Group> groups_;
};

}  // namespace

Result<FilterOptions::Signal> FindSignal(std::string_view name) {
  if (name == "last_turn") return FilterOptions::Signal::kLastTurn;
  if (name == "any_turn") return FilterOptions::Signal::kAnyTurn;
  return Err(ErrorCode::kInvalid, "no signal '{}'; use last_turn or any_turn", name);
}

Result<FilterOptions::Strategy> FindStrategy(std::string_view name) {
  if (name == "uniform") return FilterOptions::Strategy::kUniform;
  if (name == "efficiency") return FilterOptions::Strategy::kEfficiency;
  if (name == "efficiency_stochastic") return FilterOptions::Strategy::kEfficiencyStochastic;
  return Err(ErrorCode::kInvalid,
             "no strategy '{}'; use uniform, efficiency or efficiency_stochastic", name);
}

Result<Filtered> FilterGroups(const Index& index, const Rows& rows, std::span<const int64_t> length,
                              const FilterOptions& options) {
  const size_t n = index.rows();
  ASSAY_RETURN_IF_ERROR(CheckSize("group", rows.group.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("trajectory", rows.trajectory.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("turn", rows.turn.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", rows.reward.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", rows.keep.size(), n, true));
  const bool needs_length =
      options.max_length > 0 ||
      (options.samples_per_group > 0 && options.strategy != FilterOptions::Strategy::kUniform);
  ASSAY_RETURN_IF_ERROR(CheckSize("length", length.size(), n, !needs_length));
  if (options.max_groups < 0 || options.samples_per_group < 0 || options.min_group_size < 0) {
    return Err(ErrorCode::kInvalid,
               "max_groups, samples_per_group and min_group_size must be >= 0");
  }
  if (!(options.smallest_std >= 0) || std::isnan(options.reward_threshold)) {
    return Err(ErrorCode::kInvalid,
               "smallest_std is {}, it must be >= 0; reward_threshold is {}, it must be a number",
               options.smallest_std, options.reward_threshold);
  }
  return Filter(index, rows, length, options).Run();
}

}  // namespace assay::rl
