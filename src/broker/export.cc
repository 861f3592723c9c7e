#include "broker/export.h"

namespace assay {
namespace {

/// A number below `path` of the verdict's timing, or null.
json::value Timing(const json::object& verdict, std::string_view what, std::string_view member) {
  const json::object& value = GetObject(GetObject(verdict, "timing"), what);
  const json::value* number = value.if_contains(member);
  return number != nullptr && number->is_number() ? json::value(number->to_number<double>())
                                                  : json::value(nullptr);
}

json::value Time(double at) { return at > 0 ? json::value(at) : json::value(nullptr); }

}  // namespace

json::object ExportRow(const Job& job, bool raw) {
  const json::object& verdict = job.verdict;
  const bool done = job.state == JobState::kDone;
  const auto text = [&](std::string_view member) {
    return done ? json::value(GetString(verdict, member)) : json::value(nullptr);
  };
  json::object row;
  row["id"] = job.request->id;
  row["owner"] = job.request->owner;
  row["task_id"] = job.request->task_id;
  row["task_source"] = nullptr;
  if (!job.request->task_source.empty()) row["task_source"] = job.request->task_source;
  row["source"] = job.request->source;
  row["submission_sha256"] = text("submission_sha256");
  row["options"] = json::serialize(job.request->options);
  row["status"] = text("status");
  row["fault"] = text("fault");
  row["correct"] = done ? json::value(GetBool(verdict, "correct")) : json::value(nullptr);
  row["speedup"] = Timing(verdict, "speedup", "value");
  row["candidate_us"] = Timing(verdict, "candidate_us", "median");
  row["reference_us"] = Timing(verdict, "reference_us", "median");
  row["flags"] = GetArray(verdict, "flags");
  row["feedback"] = text("feedback");
  row["submitted_at"] = Time(job.submitted_at);
  row["started_at"] = Time(job.started_at);
  row["finished_at"] = Time(job.finished_at);
  row["deliveries"] = job.deliveries;
  row["worker"] = job.worker;
  row["verdict"] = nullptr;
  if (!done) return row;
  json::object kept = verdict;
  if (!raw)
    for (const std::string_view key : {"raw", "stdout", "stderr"}) kept.erase(key);
  row["verdict"] = json::serialize(kept);
  return row;
}

}  // namespace assay
