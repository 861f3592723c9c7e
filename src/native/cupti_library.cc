#include "native/cupti_library.h"

#include <dlfcn.h>

#include "base/symbols.h"

namespace assay {
namespace {

constexpr uint32_t kLeastVersion = 18;  ///< CUDA 12.0; earlier records were never compared

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

std::string LoaderError() {
  const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? text : "unknown error";
}

void* OpenAny(std::span<const std::string> paths, std::string* path, std::string* tried) {
  for (const char* name : kNames) {
    if (void* loaded = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD); loaded != nullptr) {
      *path = name;
      return loaded;
    }
  }
  const auto attempt = [&](const std::string& name) {
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    *(library != nullptr ? path : tried) += library != nullptr ? name : "; " + LoaderError();
    return library;
  };
  for (const std::string& name : paths)
    if (void* library = attempt(name); library != nullptr) return library;
  for (const char* name : kNames)
    if (void* library = attempt(name); library != nullptr) return library;
  return nullptr;
}

}  // namespace

Result<CuptiLibrary> CuptiLibrary::Open(std::span<const std::string> paths) {
  CuptiLibrary library;
  static_cast<void>(::dlerror());  // NOLINT(concurrency-mt-unsafe): forgets an older error
  std::string tried;
  void* handle = OpenAny(paths, &library.path, &tried);
  if (handle == nullptr)
    return Err(ErrorCode::kUnavailable,
               "no libcupti can be opened (pip install nvidia-cuda-cupti){}", tried);
  Symbols symbols(handle);
  symbols.Require(library.result_string, "cuptiGetResultString");
  symbols.Require(library.version, "cuptiGetVersion");
  symbols.Require(library.subscribe, "cuptiSubscribe");
  symbols.Require(library.unsubscribe, "cuptiUnsubscribe");
  symbols.Require(library.enable_callback, "cuptiEnableCallback");
  symbols.Require(library.register_buffers, "cuptiActivityRegisterCallbacks");
  symbols.Require(library.enable, "cuptiActivityEnable");
  symbols.Require(library.disable, "cuptiActivityDisable");
  symbols.Require(library.flush_all, "cuptiActivityFlushAll");
  symbols.Require(library.next_record, "cuptiActivityGetNextRecord");
  symbols.Require(library.graph_node_id, "cuptiGetGraphNodeId");
  if (const char* missing = symbols.missing(); missing != nullptr)
    return Err(ErrorCode::kUnavailable, "{} has no {}: it is too old", library.path, missing);
  uint32_t version = 0;
  ASSAY_RETURN_IF_ERROR(library.Check(library.version(&version), "cuptiGetVersion"));
  if (version < kLeastVersion)
    return Err(ErrorCode::kUnavailable, "{} is of CUPTI's API version {}, at least {} is needed",
               library.path, version, kLeastVersion);
  return library;
}

Status CuptiLibrary::Check(int code, std::string_view what) const {
  if (code == cupti::kSuccess) return {};
  const char* name = nullptr;
  if (result_string(code, &name) != cupti::kSuccess || name == nullptr) name = "unknown error";
  return Err(ErrorCode::kUnavailable, "{}: {} ({}){}", what, name, code,
             code == cupti::kErrorMultipleSubscribers
                 ? ": another profiler is at work in this process"
                 : "");
}

}  // namespace assay
