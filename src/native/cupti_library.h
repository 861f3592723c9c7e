#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "native/cupti_abi.h"

namespace assay {

/// CUPTI's functions, from a library that is opened at run time and stays open.
struct CuptiLibrary {
  int (*result_string)(int, const char**);
  int (*version)(uint32_t*);
  int (*subscribe)(cupti::Subscriber*, cupti::Callback, void*);
  int (*unsubscribe)(cupti::Subscriber);
  int (*enable_callback)(uint32_t enable, cupti::Subscriber, uint32_t domain, uint32_t id);
  int (*register_buffers)(cupti::BufferRequested, cupti::BufferCompleted);
  int (*enable)(uint32_t kind);
  int (*disable)(uint32_t kind);
  int (*flush_all)(uint32_t flag);
  int (*next_record)(uint8_t* buffer, size_t valid, cupti::Activity** record);
  int (*graph_node_id)(void* node, uint64_t* id);
  std::string path;

  /// Opens the library that this process has already (two of them would exclude each other), else
  /// the first of `paths` that can be opened. kUnavailable says what was tried and why it is no
  /// use.
  static Result<CuptiLibrary> Open(std::span<const std::string> paths);

  /// Success, or what failed with CUPTI's own name for it and, where that helps, what to do.
  [[nodiscard]] Status Check(int code, std::string_view what) const;
};

}  // namespace assay
