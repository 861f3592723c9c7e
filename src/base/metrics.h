#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Label names and values of one series, e.g. {{"status", "correct"}}; the order does not matter.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A value that only grows. Thread-safe, without a lock.
class Counter {
 public:
  void Add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// A value that goes up and down. Thread-safe, without a lock.
class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// A distribution over fixed buckets. Thread-safe, without a lock: a reader may see an observation
/// in its bucket and not yet in the sum.
class Histogram {
 public:
  /// `bounds`: upper ends of the buckets (inclusive), rising; one without an end is added.
  explicit Histogram(std::vector<double> bounds);
  void Observe(double value);

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  /// Observations per bucket (not cumulated), bounds().size() + 1 of them.
  [[nodiscard]] std::vector<uint64_t> Counts() const;
  [[nodiscard]] double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

enum class MetricType { kCounter, kGauge, kHistogram };

/// One value that is read when somebody asks, for what is known elsewhere (depth of a queue).
struct MetricSample {
  std::string name;
  std::string help;
  MetricType type = MetricType::kGauge;  ///< not kHistogram
  Labels labels;
  double value = 0;
};

/// All metrics of a process. Thread-safe; the series it hands out live as long as it does.
///
///     Counter& refused = registry.AddCounter("assay_refused_total", "Refused.", {{"why",
///     "full"}}); refused.Add();
class MetricRegistry {
 public:
  /// Of one name; what would be a new one beyond that shares a series whose label values are all
  /// "other": labels that a client can choose must not fill the memory.
  static constexpr size_t kMaxSeries = 1000;

  /// The series of that name and these labels; the same one when asked again. A name has one type,
  /// one help text and one set of label names: anything else is a programmer's error. A series
  /// keeps the bounds it was made with.
  Counter& AddCounter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& AddGauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram& AddHistogram(std::string_view name, std::string_view help, std::vector<double> bounds,
                          Labels labels = {});

  /// Calls `collect` for every exposition, under the registry's lock (it must not call the
  /// registry). Destroying the handle removes it and waits for a call that runs; the handle must
  /// not outlive the registry.
  using Collect = std::function<std::vector<MetricSample>()>;
  [[nodiscard]] std::shared_ptr<void> AddCollector(Collect collect);

  /// Prometheus' text exposition format 0.0.4; families and series in the order of their names.
  [[nodiscard]] std::string ToPrometheus() const;

  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct Series {
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
  };
  struct Family {
    MetricType type = MetricType::kGauge;
    std::string help;
    std::map<Labels, Series> series;
  };

  Series& Find(std::string_view name, std::string_view help, MetricType type, Labels labels);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
  std::map<uint64_t, Collect> collectors_;
  uint64_t next_collector_ = 0;
};

/// Bucket bounds for durations in seconds, 1 ms to 10 min: a cached answer to a CUDA compilation.
std::vector<double> DurationBuckets();

}  // namespace assay
