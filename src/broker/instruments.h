#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "broker/broker.h"

namespace assay {

/// What the broker counts. A registry of its own where nobody wants to know.
struct Broker::Instruments {
  explicit Instruments(MetricRegistry* shared)
      : own(shared == nullptr ? std::make_unique<MetricRegistry>() : nullptr),
        registry(shared == nullptr ? own.get() : shared),
        accepted(registry->AddCounter("assay_submissions_total", "Submissions accepted.")),
        repeated(registry->AddCounter("assay_submissions_repeated_total",
                                      "Submissions that named an earlier job by id or "
                                      "idempotency key.")),
        deliveries(registry->AddCounter("assay_deliveries_total", "Jobs given to a worker.")),
        losses(registry->AddCounter("assay_deliveries_lost_total",
                                    "Deliveries that ended without a result: the worker died.")),
        late(registry->AddCounter("assay_results_late_total",
                                  "Results of deliveries that were over, refused.")),
        wait(registry->AddHistogram("assay_queue_wait_seconds",
                                    "From acceptance to the first delivery.", DurationBuckets())),
        judging(registry->AddHistogram("assay_judging_seconds", "From a delivery to its verdict.",
                                       DurationBuckets())) {}

  void Refused(std::string_view reason) const {
    registry
        ->AddCounter("assay_submissions_refused_total", "Submissions refused.",
                     {{"reason", std::string(reason)}})
        .Add();
  }

  /// On one thread, the writer's.
  void Verdict(const Job& job) {
    const std::string status = GetString(job.verdict, "status");
    Counter*& counter = verdicts[status];
    if (counter == nullptr)
      counter = &registry->AddCounter("assay_verdicts_total", "Verdicts by status.",
                                      {{"status", status}});
    counter->Add();
    for (const auto& [phase, ms] : GetObject(job.verdict, "phases_ms"))
      if (ms.is_number())
        registry
            ->AddHistogram("assay_phase_seconds", "Duration of the judging's phases.",
                           DurationBuckets(), {{"phase", std::string(phase)}})
            .Observe(ms.to_number<double>() / 1e3);
  }

  std::unique_ptr<MetricRegistry> own;
  MetricRegistry* const registry;
  Counter& accepted;
  Counter& repeated;
  Counter& deliveries;
  Counter& losses;
  Counter& late;
  Histogram& wait;
  Histogram& judging;
  std::map<std::string, Counter*> verdicts;  ///< by status
  std::shared_ptr<void> depth;               ///< the collector; before the registry it is in
};

}  // namespace assay
