#include "base/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace assay {
namespace {

TEST(Metrics, EmptyRegistryIsEmptyText) { EXPECT_EQ(MetricRegistry().ToPrometheus(), ""); }

TEST(Metrics, ExpositionIsExact) {
  MetricRegistry registry;
  registry.AddGauge("assay_queue", "Queued jobs.").Set(3);
  registry.AddCounter("assay_verdicts_total", "Verdicts.", {{"status", "correct"}}).Add();
  registry.AddCounter("assay_verdicts_total", "Verdicts.", {{"status", "correct"}}).Add(1.5);
  registry.AddCounter("assay_verdicts_total", "Verdicts.", {{"status", "cancelled"}});
  Histogram& wait = registry.AddHistogram("assay_wait_seconds", "Wait.", {0.5, 2}, {{"q", "a"}});
  for (const double value : {0.1, 0.5, 1.0, 7.0}) wait.Observe(value);
  EXPECT_EQ(registry.ToPrometheus(),
            "# HELP assay_queue Queued jobs.\n"
            "# TYPE assay_queue gauge\n"
            "assay_queue 3\n"
            "# HELP assay_verdicts_total Verdicts.\n"
            "# TYPE assay_verdicts_total counter\n"
            "assay_verdicts_total{status=\"cancelled\"} 0\n"
            "assay_verdicts_total{status=\"correct\"} 2.5\n"
            "# HELP assay_wait_seconds Wait.\n"
            "# TYPE assay_wait_seconds histogram\n"
            "assay_wait_seconds_bucket{q=\"a\",le=\"0.5\"} 2\n"
            "assay_wait_seconds_bucket{q=\"a\",le=\"2\"} 3\n"
            "assay_wait_seconds_bucket{q=\"a\",le=\"+Inf\"} 4\n"
            "assay_wait_seconds_sum{q=\"a\"} 8.6\n"
            "assay_wait_seconds_count{q=\"a\"} 4\n");
}

TEST(Metrics, HostileTextIsEscaped) {
  MetricRegistry registry;
  registry.AddGauge("g", "two\nlines \\ \"q\"", {{"owner", "a\"b\\c\nd"}}).Set(1);
  EXPECT_EQ(registry.ToPrometheus(),
            "# HELP g two\\nlines \\\\ \"q\"\n"
            "# TYPE g gauge\n"
            "g{owner=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(Metrics, NumbersThatAreNone) {
  MetricRegistry registry;
  registry.AddGauge("a", "h").Set(std::numeric_limits<double>::infinity());
  registry.AddGauge("b", "h").Set(-std::numeric_limits<double>::infinity());
  registry.AddGauge("c", "h").Set(std::nan(""));
  const std::string text = registry.ToPrometheus();
  EXPECT_NE(text.find("\na +Inf\n"), std::string::npos);
  EXPECT_NE(text.find("\nb -Inf\n"), std::string::npos);
  EXPECT_NE(text.find("\nc NaN\n"), std::string::npos);
  Histogram& histogram = registry.AddHistogram("d", "h", {1});
  histogram.Observe(std::nan(""));
  EXPECT_EQ(histogram.Counts(), (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(histogram.sum(), 0);
}

TEST(Metrics, LabelsInAnyOrderAreOneSeries) {
  MetricRegistry registry;
  Counter& one = registry.AddCounter("c", "h", {{"b", "2"}, {"a", "1"}});
  Counter& other = registry.AddCounter("c", "h", {{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(&one, &other);
}

TEST(Metrics, SeriesOfOneNameAreBounded) {
  MetricRegistry registry;
  for (size_t i = 0; i < MetricRegistry::kMaxSeries + 500; ++i)
    registry.AddCounter("c", "h", {{"path", std::to_string(i)}}).Add();
  EXPECT_EQ(registry.AddCounter("c", "h", {{"path", "never seen"}}).value(), 500);
  EXPECT_EQ(registry.AddCounter("c", "h", {{"path", "7"}}).value(), 1);
  EXPECT_NE(registry.ToPrometheus().find("c{path=\"other\"} 500\n"), std::string::npos);
}

TEST(MetricsDeathTest, OneNameHasOneType) {
  MetricRegistry registry;
  registry.AddCounter("c", "h", {{"a", "1"}});
  EXPECT_DEATH(registry.AddGauge("c", "h", {{"a", "1"}}), "check failed");
  EXPECT_DEATH(registry.AddCounter("c", "h", {{"other_label", "1"}}), "check failed");
  EXPECT_DEATH(registry.AddCounter("no-dashes", "h"), "check failed");
  EXPECT_DEATH(registry.AddCounter("", "h"), "check failed");
}

TEST(Metrics, CollectorsAreAskedUntilTheirHandleGoes) {
  MetricRegistry registry;
  int asked = 0;
  auto handle = registry.AddCollector([&] {
    ++asked;
    return std::vector<MetricSample>{{"depth", "Depth.", MetricType::kGauge, {{"q", "x"}}, 4},
                                     {"depth", "Depth.", MetricType::kGauge, {{"q", "y"}}, 5}};
  });
  EXPECT_EQ(registry.ToPrometheus(),
            "# HELP depth Depth.\n# TYPE depth gauge\ndepth{q=\"x\"} 4\ndepth{q=\"y\"} 5\n");
  handle.reset();
  EXPECT_EQ(registry.ToPrometheus(), "");
  EXPECT_EQ(asked, 1);
}

TEST(Metrics, ManyThreads) {
  MetricRegistry registry;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&registry, t] {
      for (int i = 0; i < 2000; ++i) {
        registry.AddCounter("c", "h").Add();
        registry.AddHistogram("d", "h", {10, 100}, {{"t", std::to_string(t)}}).Observe(i);
        if (i % 500 == 0) {
          EXPECT_FALSE(registry.ToPrometheus().empty());
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.AddCounter("c", "h").value(), 8000);
  EXPECT_EQ(registry.AddHistogram("d", "h", {}, {{"t", "3"}}).Counts(),
            (std::vector<uint64_t>{11, 90, 1899}));
}

}  // namespace
}  // namespace assay
