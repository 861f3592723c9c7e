#include "broker/replay.h"

namespace assay {
namespace {

json::value Member(const json::object& object, std::string_view outer, std::string_view inner) {
  const json::object& from = outer.empty() ? object : GetObject(object, outer);
  const json::value* value = from.if_contains(inner);
  return value == nullptr ? json::value(nullptr) : *value;
}

struct Compared {
  const char* outer;
  const char* inner;
  bool decisive;
};

constexpr Compared kCompared[] = {
    {"", "submission_sha256", true},
    {"", "task_sha256", true},
    {"", "protocol", true},
    {"", "status", true},
    {"", "fault", true},
    {"error", "kind", true},
    {"error", "name", true},
    {"correctness", "trials", true},
    {"correctness", "passed", true},
    {"correctness", "reference", false},
    {"correctness", "max_abs_err", false},
    {"correctness", "max_rel_err", false},
    {"environment", "gpu", false},
    {"environment", "torch", false},
    {"environment", "triton", false},
    {"environment", "sandbox", false},
};

bool IntervalsMeet(const json::object& a, const json::object& b) {
  return GetDouble(a, "low") <= GetDouble(b, "high") && GetDouble(b, "low") <= GetDouble(a, "high");
}

}  // namespace

std::vector<Difference> CompareVerdicts(const json::object& before, const json::object& after) {
  std::vector<Difference> differences;
  for (const Compared& compared : kCompared) {
    json::value old_value = Member(before, compared.outer, compared.inner);
    json::value new_value = Member(after, compared.outer, compared.inner);
    if (old_value == new_value) continue;
    const std::string outer = compared.outer;
    differences.push_back({(outer.empty() ? "" : outer + ".") + compared.inner,
                           std::move(old_value), std::move(new_value), compared.decisive});
  }
  const json::value old_speedup = Member(before, "timing", "speedup");
  const json::value new_speedup = Member(after, "timing", "speedup");
  const bool both = old_speedup.is_object() && new_speedup.is_object();
  if (both ? !IntervalsMeet(old_speedup.get_object(), new_speedup.get_object())
           : old_speedup.is_object() != new_speedup.is_object())
    differences.push_back({"timing.speedup", old_speedup, new_speedup, false});
  return differences;
}

}  // namespace assay
