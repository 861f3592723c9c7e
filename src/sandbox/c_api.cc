#include "sandbox/c_api.h"

#include <cstring>
#include <exception>

#include "sandbox/sandbox.h"

namespace {

using assay::Err;
using assay::ErrorCode;
using assay::Result;
using assay::SandboxReport;
using assay::SandboxSpec;
namespace json = assay::json;

Result<SandboxSpec> ParseSpec(const char* text) {
  if (text == nullptr) return Err(ErrorCode::kInvalid, "sandbox: no spec");
  ASSAY_ASSIGN_OR_RETURN(const json::object object, assay::ParseJsonObject(text));
  return SandboxSpec::FromJson(object);
}

/// 0, or -1 when it does not fit; then as much of the text as fits.
int Answer(const json::object& object, char* out, size_t size) {
  if (out == nullptr || size == 0) return -1;
  const std::string text = json::serialize(object);
  const size_t length = text.size() < size ? text.size() : size - 1;
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
  return length == text.size() ? 0 : -1;
}

int Refuse(const std::string& message, char* out, size_t size) {
  Answer(json::object{{"error", message}}, out, size);
  return -1;
}

Result<json::object> UnshareAsJson(const char* spec_json) {
  ASSAY_ASSIGN_OR_RETURN(const SandboxSpec spec, ParseSpec(spec_json));
  return assay::Unshare(spec).ToJson();
}

Result<json::object> ConfineAsJson(const char* spec_json, const int* keep, int keep_count,
                                   const char* report_json) {
  ASSAY_ASSIGN_OR_RETURN(const SandboxSpec spec, ParseSpec(spec_json));
  if (report_json == nullptr) return Err(ErrorCode::kInvalid, "sandbox: no report of the stem");
  ASSAY_ASSIGN_OR_RETURN(const json::object before, assay::ParseJsonObject(report_json));
  SandboxReport report = SandboxReport::FromJson(before);
  std::vector<int> fds;
  if (keep != nullptr && keep_count > 0) fds.assign(keep, keep + keep_count);
  ASSAY_RETURN_IF_ERROR(assay::Confine(spec, fds, &report));
  return report.ToJson();
}

/// Runs `call` and writes its answer; the one place where exceptions (out of memory) end.
template <typename Call>
int Respond(Call call, char* out, size_t size) {
  try {
    const Result<json::object> result = call();
    return result.ok() ? Answer(*result, out, size) : Refuse(result.error().message, out, size);
  } catch (const std::exception& exception) {
    return Refuse(exception.what(), out, size);
  }
}

}  // namespace

extern "C" int assay_sandbox_unshare(const char* spec_json, char* report, size_t report_size) {
  return Respond([&] { return UnshareAsJson(spec_json); }, report, report_size);
}

extern "C" int assay_sandbox_confine(const char* spec_json, const int* keep, int keep_count,
                                     char* report, size_t report_size) {
  return Respond([&] { return ConfineAsJson(spec_json, keep, keep_count, report); }, report,
                 report_size);
}
