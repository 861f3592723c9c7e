#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace assay {

/// What kind of failure an Error is; callers branch on this, people read the message.
enum class ErrorCode {
  kInvalid,      ///< The caller's input is wrong; the message says how to mend it.
  kNotFound,     ///< The thing named does not exist.
  kUnavailable,  ///< This machine or process cannot do it (now).
  kTimeout,      ///< A deadline passed.
  kClosed,       ///< The peer went away.
  kProtocol,     ///< The peer sent something it must not send.
  kIo,           ///< An operating-system call failed.
  kInternal,     ///< A bug in Assay.
};

/// A failure that a caller is expected to handle.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// Formats an Error: `return Err(ErrorCode::kNotFound, "no task '{}'", id);`
template <typename... Args>
[[nodiscard]] Error Err(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

/// An Error that ends with the text of `errno`.
[[nodiscard]] Error ErrnoError(std::string_view what, int error_number);

[[noreturn]] inline void Fatal(const char* what, const char* file, int line) {
  std::fprintf(stderr, "assay: %s:%d: %s\n", file, line, what);
  std::abort();
}

/// Programmer errors; stays on in release.
#define ASSAY_CHECK(condition)        \
  ((condition) ? static_cast<void>(0) \
               : ::assay::Fatal("check failed: " #condition, __FILE__, __LINE__))

/// A value or an Error. Exceptions never cross a module; this does.
///
///     Result<Task> task = LoadTask(path);
///     if (!task.ok()) return task.error();
///     Use(*task);
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  [[nodiscard]] const Error& error() const {
    ASSAY_CHECK(!ok());
    return std::get<1>(state_);
  }
  T& operator*() & {
    ASSAY_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& operator*() const& {
    ASSAY_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& operator*() && {
    ASSAY_CHECK(ok());
    return std::move(std::get<0>(state_));
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const {
    ASSAY_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)

/// Returns the Error of `expression` from the enclosing function, if it is one.
#define ASSAY_RETURN_IF_ERROR(expression)                                                  \
  do {                                                                                     \
    if (auto assay_status = (expression); !assay_status.ok()) return assay_status.error(); \
  } while (false)

/// `ASSAY_ASSIGN_OR_RETURN(auto x, F());` declares x or returns F's Error.
// A declaration cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define ASSAY_ASSIGN_OR_RETURN(declaration, expression)      \
  auto ASSAY_CONCAT(assay_result_, __LINE__) = (expression); \
  if (!ASSAY_CONCAT(assay_result_, __LINE__).ok())           \
    return ASSAY_CONCAT(assay_result_, __LINE__).error();    \
  declaration = *std::move(ASSAY_CONCAT(assay_result_, __LINE__))
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace assay
