#include "openenv/telemetry.h"

#include <algorithm>

#include "base/hash.h"

namespace assay::openenv {
namespace {

// What the validator reads at most; more is not kept.
constexpr size_t kMaxSteps = 100;
constexpr size_t kMaxRecords = 202;  // a reset, 100 steps, a state after each of them
constexpr size_t kMaxBytes = 8u << 20;

/// Equal, in a time that does not depend on where they differ.
bool SameSecret(std::string_view a, std::string_view b) {
  // Digests have one length, and what leaks of them says nothing of the secret.
  return Sha256(a) == Sha256(b);
}

/// 32 random bytes as 43 characters that a URL may hold.
std::string NewCapability() {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (const char c : RandomBytes(43)) out += kAlphabet[static_cast<uint8_t>(c) & 63];
  return out;
}

bool RightVersion(const json::object& data) { return GetInt(data, "schema_version") == 1; }

}  // namespace

std::optional<json::object> Telemetry::Open(const json::object& data, bool first) {
  if (token_.empty() || !first || open() || data.size() != 2 || !RightVersion(data) ||
      !SameSecret(GetString(data, "token"), token_))
    return std::nullopt;
  capability_ = NewCapability();
  return json::object{{"schema_version", 1}, {"capability", capability_}};
}

void Telemetry::Record(std::string_view operation, const json::value& request,
                       const json::value& response) {
  if (!open()) return;
  if (operation == "reset") {
    records_.clear();
    steps_ = bytes_ = 0;
    overflow_.clear();
    const json::object& data =
        request.is_object() ? GetObject(request.get_object(), "data") : json::object{};
    const json::value* seed = data.if_contains("seed");
    const bool requested = seed != nullptr && !seed->is_null();
    const bool accepted =
        response.is_object() && GetString(response.get_object(), "type") == "observation";
    seed_ = {{"requested", requested},
             {"value", requested ? *seed : json::value(nullptr)},
             {"accepted", requested && accepted}};
  }
  if (operation == "step") ++steps_;
  if (!overflow_.empty()) return;
  json::object record{{"operation", operation}, {"request", request}, {"response", response}};
  bytes_ += json::serialize(record).size();
  if (steps_ > kMaxSteps)
    overflow_ = "more than 100 steps";
  else if (records_.size() >= kMaxRecords)
    overflow_ = "more than 202 records";
  else if (bytes_ > kMaxBytes)
    overflow_ = "more than 8 MiB";
  else
    records_.emplace_back(std::move(record));
}

std::optional<json::object> Telemetry::Read(const json::object& data) const {
  if (!open() || data.size() != 2 || !RightVersion(data) ||
      !SameSecret(GetString(data, "capability"), capability_))
    return std::nullopt;
  json::array attribution;
  for (size_t step = 0; step < std::min(steps_, kMaxSteps); ++step)
    attribution.emplace_back(json::object{{"step_index", step}, {"rubric", json::array{}}});
  json::object seed = seed_;
  if (seed.empty()) seed = {{"requested", false}, {"value", nullptr}, {"accepted", false}};
  return json::object{
      {"schema_version", 1},
      {"seed", std::move(seed)},
      {"rubric", json::array{}},
      {"rubric_error", nullptr},
      {"attribution", std::move(attribution)},
      {"trajectory",
       {{"schema_version", 1},
        {"source", "openenv-server"},
        {"complete", overflow_.empty()},
        {"reason", overflow_.empty() ? json::value(nullptr) : json::value(overflow_)},
        {"records", records_}}}};
}

}  // namespace assay::openenv
