#pragma once

#include <string_view>
#include <utility>

namespace assay {

/// Names the request that this thread works on while it lives, for whoever logs meanwhile: a line
/// of text ends with " request=ID". `id` outlives it; empty: none.
class LogRequest {
 public:
  explicit LogRequest(std::string_view id) : before_(std::exchange(current_, id)) {}
  ~LogRequest() { current_ = before_; }
  LogRequest(const LogRequest&) = delete;
  LogRequest& operator=(const LogRequest&) = delete;

  static std::string_view current() { return current_; }

 private:
  inline static thread_local std::string_view current_;
  const std::string_view before_;
};

}  // namespace assay
