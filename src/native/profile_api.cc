// The C ABI of the profile (see CuptiTracer; one at a time in a process) and of ghosts.

#include <cstring>
#include <exception>
#include <memory>

#include "base/strings.h"
#include "native/c_api_error.h"
#include "native/cupti_tracer.h"
#include "native/ghost.h"

namespace {

using assay::CuptiTracer;
namespace json = assay::json;

std::unique_ptr<CuptiTracer> tracer;  // NOLINT: one per process

std::vector<std::string> Strings(const json::object& object, std::string_view key) {
  std::vector<std::string> strings;
  for (const json::value& value : assay::GetArray(object, key))
    if (value.is_string()) strings.emplace_back(value.get_string());
  return strings;
}

assay::Status Attach(const char* config_text) {
  ASSAY_ASSIGN_OR_RETURN(const json::object config, assay::ParseJsonObject(config_text));
  ASSAY_ASSIGN_OR_RETURN(
      tracer, CuptiTracer::Attach(Strings(config, "cupti"),
                                  {assay::GetString(config, "own"), Strings(config, "libraries")}));
  return {};
}

/// Runs `call`; the one place where exceptions (out of memory) end. 0, or as assay::Fail says.
template <typename Call>
int Guarded(Call call) {
  try {
    const assay::Status status = call();
    return status.ok() ? 0 : assay::Fail(status.error());
  } catch (const std::exception& error) {
    return assay::Fail(assay::Err(assay::ErrorCode::kInternal, "{}", error.what()));
  }
}

assay::Status Attached() {
  if (tracer) return {};
  return assay::Err(assay::ErrorCode::kInternal, "assay_profile_attach was not called");
}

}  // namespace

extern "C" {

/// `config`: JSON {"cupti": [library, ...], "own": folder, "libraries": [folder, ...]}.
int assay_profile_attach(const char* config) {
  return Guarded([&] { return Attach(config); });
}

/// `window`: 0 attributed, 1 free.
int assay_profile_start(int window) {
  return Guarded([&]() -> assay::Status {
    ASSAY_RETURN_IF_ERROR(Attached());
    return tracer->Start(window == 0 ? CuptiTracer::kAttributed : CuptiTracer::kFree);
  });
}

int assay_profile_stop() {
  return Guarded([&]() -> assay::Status {
    ASSAY_RETURN_IF_ERROR(Attached());
    return tracer->Stop();
  });
}

/// Writes the report, a JSON text, into `out`.
int assay_profile_report(const uint64_t* own, size_t own_count, const uint64_t* library,
                         size_t library_count, uint32_t calls, char* out, size_t size) {
  return Guarded([&]() -> assay::Status {
    ASSAY_RETURN_IF_ERROR(Attached());
    const std::string text =
        json::serialize(tracer->Report({{own, own_count}, {library, library_count}}, calls));
    if (text.size() >= size)
      return assay::Err(assay::ErrorCode::kInternal, "a report of {} bytes does not fit",
                        text.size());
    std::memcpy(out, text.c_str(), text.size() + 1);
    return {};
  });
}

void assay_profile_detach() { tracer.reset(); }

/// See CutOffLaunches(): 0 or an error.
int assay_ghost_patch(const char* folder) {
  return Guarded([&]() -> assay::Status {
    const assay::Result<int> changed = assay::CutOffLaunches(folder);
    return changed.ok() ? assay::Status() : assay::Status(changed.error());
  });
}

uint64_t assay_ghost_skipped() { return assay::SkippedLaunches(); }

}  // extern "C"
