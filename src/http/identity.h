#pragma once

#include <string>
#include <string_view>

namespace assay::http {

/// What a key may do; each includes the ones before it.
enum class Scope { kNone, kRead, kSubmit, kAdmin };

/// "none", "read", "submit", "admin".
std::string_view ScopeName(Scope scope);

/// The name of everybody where no keys are needed.
inline constexpr std::string_view kLocal = "local";

/// Who sent a request.
struct Identity {
  std::string key_name;  ///< from the key file; kLocal where no keys are needed
  Scope scope = Scope::kNone;
  std::string key_id;  ///< names the key itself, not a secret; two keys may share a key_name
  /// Why a key that was sent does not count, for the 401; empty when none was sent.
  std::string problem;
  double retry_after_s = 0;  ///< > 0: the peer sent too many wrong keys and must wait (429)
};

}  // namespace assay::http
