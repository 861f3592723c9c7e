#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "http/identity.h"

namespace assay::http {

/// What one key may use; 0 is no limit.
struct KeyQuota {
  double requests_per_second = 0;  ///< with bursts of two seconds' worth
  size_t connections = 0;
  size_t queued = 0;  ///< submissions that wait; the queue enforces it
};

/// A key as the server knows it: never the key, only its hash.
struct ApiKey {
  std::string name;  ///< what logs and queues show
  Digest sha256{};
  Scope scope = Scope::kNone;
  KeyQuota quota;
};

/// The shortest key that is taken; made ones have 43 characters.
inline constexpr size_t kMinKeyLength = 16;

/// kInvalid, with what it may be, for a name that no key can have.
Status CheckKeyName(std::string_view name);

/// Reads a key file. One key a line, `#` starts a comment:
///
///     trainer  sha256:9f86d081...  submit  rps=50 connections=600 queued=2000
///     grafana  a-key-in-the-clear  read
///
/// or JSON, `{"keys": [{"name", "sha256" or "key", "scope", "requests_per_second", "connections",
/// "queued"}]}`. kInvalid says which line is wrong and how to mend it, and never quotes a key.
Result<std::vector<ApiKey>> ParseKeys(std::string_view text);

/// A new key: 256 random bits, base64url, with the prefix "ak_".
std::string MakeKey();

/// The key file's line for `key`, which holds its hash.
std::string KeyLine(std::string_view name, std::string_view key, Scope scope);

}  // namespace assay::http
