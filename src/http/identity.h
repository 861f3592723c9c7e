#pragma once

#include <array>
#include <string>
#include <string_view>

namespace assay::http {

/// What a key may do. Clients' scopes include the ones before them; a worker's is beside them, so
/// that its key reads and submits nothing, and theirs judge nothing. kAdmin includes all.
enum class Scope { kNone, kRead, kSubmit, kWorker, kAdmin };

/// Those that a key can have.
inline constexpr std::array kKeyScopes{Scope::kRead, Scope::kSubmit, Scope::kWorker, Scope::kAdmin};

/// "none", "read", "submit", "worker", "admin".
std::string_view ScopeName(Scope scope);

/// Whether who has the scope `has` may do what needs `needed`.
constexpr bool Includes(Scope has, Scope needed) {
  if (has == Scope::kAdmin || needed == Scope::kNone || has == needed) return true;
  return has != Scope::kWorker && needed != Scope::kWorker && has > needed;
}

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
