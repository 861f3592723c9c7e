#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "kernelgym/request.h"

namespace assay::kernelgym {

/// Codes that stand in `error_code` and in the header X-Error-Code.
inline constexpr std::string_view kValidationError = "VALIDATION_ERROR";
inline constexpr std::string_view kCompilationError = "COMPILATION_ERROR";
inline constexpr std::string_view kRuntimeError = "RUNTIME_ERROR";
inline constexpr std::string_view kCorrectnessError = "CORRECTNESS_ERROR";
inline constexpr std::string_view kTimeoutError = "TIMEOUT_ERROR";
inline constexpr std::string_view kSystemError = "SYSTEM_ERROR";
inline constexpr std::string_view kResourceError = "RESOURCE_ERROR";

/// UTC in ISO 8601 with microseconds and "Z"; null for 0, which stands for "not yet".
json::value Timestamp(double unix_seconds);

/// 400: a body or query that does not fit. The issues stand in `message` as KernelGYM prints them
/// and once more, for programs, in `errors`.
http::Response InvalidRequest(const std::vector<Issue>& issues, double now);

/// 500 in the shape of an unhandled fault.
http::Response InternalError(std::string_view message, double now);

/// {"detail": message}, what a handler answers when it refuses. `error_code` is sent as a header
/// unless empty.
http::Response Detail(int status, std::string_view message, std::string_view error_code = "");

/// 429 or 503 with a Retry-After of at least a second.
http::Response ComeAgain(int status, std::string_view message, std::string_view error_code,
                         double retry_after_s);

}  // namespace assay::kernelgym
