#include "base/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/result.h"

namespace assay {
namespace {

bool ValidName(std::string_view name, bool colons) {
  const auto letter = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
  };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string Escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string LabelText(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels)
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, Escaped(value, true));
  return out.empty() ? out : "{" + out + "}";
}

std::string_view TypeName(MetricType type) {
  return type == MetricType::kCounter ? "counter"
         : type == MetricType::kGauge ? "gauge"
                                      : "histogram";
}

void Render(const std::string& name, const Labels& labels, const Histogram& histogram,
            std::string* out) {
  const std::vector<uint64_t> counts = histogram.Counts();
  uint64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    Labels bucket = labels;
    bucket.emplace_back("le",
                        i < histogram.bounds().size() ? Number(histogram.bounds()[i]) : "+Inf");
    *out += fmt::format("{}_bucket{} {}\n", name, LabelText(bucket), total);
  }
  *out += fmt::format("{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, LabelText(labels),
                      Number(histogram.sum()), total);
}

/// A family's lines while they are gathered from series and collectors.
struct Block {
  MetricType type = MetricType::kGauge;
  std::string help;
  std::string lines;
};

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      counts_(std::make_unique<std::atomic<uint64_t>[]>(bounds_.size() + 1)) {
  ASSAY_CHECK(std::is_sorted(bounds_.begin(), bounds_.end()));
}

void Histogram::Observe(double value) {
  if (std::isnan(value)) return;
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<uint64_t> Histogram::Counts() const {
  std::vector<uint64_t> counts(bounds_.size() + 1);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

MetricRegistry::Series& MetricRegistry::Find(std::string_view name, std::string_view help,
                                             MetricType type, Labels labels) {
  ASSAY_CHECK(ValidName(name, /*colons=*/true));
  std::sort(labels.begin(), labels.end());
  for (const auto& label : labels) ASSAY_CHECK(ValidName(label.first, /*colons=*/false));
  const auto [found, fresh] = families_.try_emplace(std::string(name));
  Family& family = found->second;
  if (fresh) {
    family.type = type;
    family.help = help;
  }
  ASSAY_CHECK(family.type == type && family.help == help);
  if (!family.series.empty()) {
    const Labels& known = family.series.begin()->first;
    ASSAY_CHECK(std::equal(known.begin(), known.end(), labels.begin(), labels.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; }));
  }
  if (family.series.size() >= kMaxSeries && !family.series.contains(labels))
    for (auto& label : labels) label.second = "other";
  return family.series[std::move(labels)];
}

Counter& MetricRegistry::AddCounter(std::string_view name, std::string_view help, Labels labels) {
  const std::lock_guard guard(mutex_);
  Series& series = Find(name, help, MetricType::kCounter, std::move(labels));
  if (!series.counter) series.counter = std::make_unique<Counter>();
  return *series.counter;
}

Gauge& MetricRegistry::AddGauge(std::string_view name, std::string_view help, Labels labels) {
  const std::lock_guard guard(mutex_);
  Series& series = Find(name, help, MetricType::kGauge, std::move(labels));
  if (!series.gauge) series.gauge = std::make_unique<Gauge>();
  return *series.gauge;
}

Histogram& MetricRegistry::AddHistogram(std::string_view name, std::string_view help,
                                        std::vector<double> bounds, Labels labels) {
  const std::lock_guard guard(mutex_);
  Series& series = Find(name, help, MetricType::kHistogram, std::move(labels));
  if (!series.histogram) series.histogram = std::make_unique<Histogram>(std::move(bounds));
  return *series.histogram;
}

std::shared_ptr<void> MetricRegistry::AddCollector(Collect collect) {
  const std::lock_guard guard(mutex_);
  const uint64_t id = next_collector_++;
  collectors_.emplace(id, std::move(collect));
  return {this, [this, id](void*) {
            const std::lock_guard erase(mutex_);
            collectors_.erase(id);
          }};
}

std::string MetricRegistry::ToPrometheus() const {
  const std::lock_guard guard(mutex_);
  std::map<std::string, Block> blocks;
  for (const auto& [name, family] : families_) {
    Block& block = blocks[name];
    block.type = family.type;
    block.help = family.help;
    for (const auto& [labels, series] : family.series) {
      if (series.histogram) {
        Render(name, labels, *series.histogram, &block.lines);
      } else {
        const double value = series.counter ? series.counter->value() : series.gauge->value();
        block.lines += fmt::format("{}{} {}\n", name, LabelText(labels), Number(value));
      }
    }
  }
  for (const auto& [id, collect] : collectors_)
    for (const MetricSample& sample : collect()) {
      ASSAY_CHECK(ValidName(sample.name, /*colons=*/true));
      Block& block = blocks[sample.name];
      block.type = sample.type;
      block.help = sample.help;
      block.lines +=
          fmt::format("{}{} {}\n", sample.name, LabelText(sample.labels), Number(sample.value));
    }
  std::string out;
  for (const auto& [name, block] : blocks)
    out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", name, Escaped(block.help, false),
                       TypeName(block.type), block.lines);
  return out;
}

std::vector<double> DurationBuckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
          1,     2.5,    5,     10,   25,    60,   120, 300,  600};
}

}  // namespace assay
