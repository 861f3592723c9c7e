#include "http/key_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/json.h"
#include "base/strings.h"

namespace assay::http {
namespace {

constexpr size_t kMaxKeys = 10'000;
constexpr std::string_view kHashPrefix = "sha256:";

std::optional<Scope> ParseScope(std::string_view text) {
  for (const Scope scope : kKeyScopes)
    if (text == ScopeName(scope)) return scope;
  return std::nullopt;
}

std::optional<Digest> ParseDigest(std::string_view hex) {
  Digest digest{};
  if (hex.size() != digest.size() * 2) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const char* begin = hex.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, digest[i], 16);
    if (error != std::errc() || end != begin + 2) return std::nullopt;
  }
  return digest;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Where an entry stands and what it says, whichever the format.
struct Entry {
  std::string where;  ///< "line 3", "keys[2]"
  std::string name;
  std::string secret;  ///< "sha256:HEX" or the key
  std::string scope;
  std::vector<std::pair<std::string, double>> quota;
};

Status SetQuota(const Entry& entry, KeyQuota* quota) {
  for (const auto& [name, value] : entry.quota) {
    if (!(value >= 0 && value <= 1e9))
      return Err(ErrorCode::kInvalid, "{}: {} must be from 0 (no limit) to 1e9", entry.where, name);
    if (name == "rps" || name == "requests_per_second") {
      quota->requests_per_second = value;
    } else if (name == "connections") {
      quota->connections = static_cast<size_t>(value);
    } else if (name == "queued") {
      quota->queued = static_cast<size_t>(value);
    } else {
      return Err(ErrorCode::kInvalid, "{}: there is no quota '{}'; use rps, connections or queued",
                 entry.where, name);
    }
  }
  return {};
}

Result<ApiKey> MakeApiKey(const Entry& entry) {
  if (const Status name = CheckKeyName(entry.name); !name.ok())
    return Err(ErrorCode::kInvalid, "{}: {}", entry.where, name.error().message);
  ApiKey key;
  key.name = entry.name;
  const std::optional<Scope> scope = ParseScope(entry.scope);
  if (!scope)
    return Err(ErrorCode::kInvalid,
               "{}: the scope of key '{}' must be read, submit, worker or admin", entry.where,
               key.name);
  key.scope = *scope;
  if (entry.secret.starts_with(kHashPrefix)) {
    const std::optional<Digest> digest =
        ParseDigest(std::string_view(entry.secret).substr(kHashPrefix.size()));
    if (!digest)
      return Err(ErrorCode::kInvalid, "{}: 'sha256:' must be followed by 64 hexadecimal digits",
                 entry.where);
    key.sha256 = *digest;
  } else if (entry.secret.size() < kMinKeyLength) {
    return Err(ErrorCode::kInvalid,
               "{}: key '{}' is shorter than {} characters; `assay keys new` makes a good one",
               entry.where, key.name, kMinKeyLength);
  } else {
    key.sha256 = Sha256(entry.secret);
  }
  ASSAY_RETURN_IF_ERROR(SetQuota(entry, &key.quota));
  return key;
}

Result<std::vector<Entry>> ReadLines(std::string_view text) {
  std::vector<Entry> entries;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    std::vector<std::string> words;
    for (const std::string_view word : Split(line.substr(0, line.find('#')), ' '))
      for (const std::string_view part : Split(Trim(word), '\t'))
        if (!part.empty()) words.emplace_back(part);
    if (words.empty()) continue;
    Entry entry;
    entry.where = fmt::format("line {}", number);
    if (words.size() < 3)
      return Err(ErrorCode::kInvalid, "{}: expected 'name key-or-sha256:HEX scope [quota=n ...]'",
                 entry.where);
    entry.name = words[0];
    entry.secret = words[1];
    entry.scope = words[2];
    for (size_t i = 3; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      const std::optional<double> value =
          equals == std::string::npos ? std::nullopt
                                      : ParseNumber(std::string_view(words[i]).substr(equals + 1));
      if (!value)
        return Err(ErrorCode::kInvalid, "{}: a quota reads like rps=50, connections=600, queued=10",
                   entry.where);
      entry.quota.emplace_back(words[i].substr(0, equals), *value);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<Entry>> ReadJson(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const json::value document, ParseJson(text));
  if (!document.is_array() && !(document.is_object() && document.get_object().contains("keys")))
    return Err(ErrorCode::kInvalid, "expected {{\"keys\": [...]}}");
  const json::array& items =
      document.is_array() ? document.get_array() : GetArray(document.get_object(), "keys");
  std::vector<Entry> entries;
  for (const json::value& item : items) {
    Entry entry;
    entry.where = fmt::format("keys[{}]", entries.size());
    if (!item.is_object()) return Err(ErrorCode::kInvalid, "{}: expected an object", entry.where);
    for (const auto& member : item.get_object()) {
      const std::string_view name = member.key();
      const json::value& value = member.value();
      if (value.is_number()) {
        entry.quota.emplace_back(name, value.to_number<double>());
      } else if (value.is_string() && name == "name") {
        entry.name = value.get_string();
      } else if (value.is_string() && name == "scope") {
        entry.scope = value.get_string();
      } else if (value.is_string() && name == "key") {
        entry.secret = value.get_string();
      } else if (value.is_string() && name == "sha256") {
        entry.secret = std::string(kHashPrefix) + std::string(value.get_string());
      } else {
        return Err(ErrorCode::kInvalid,
                   "{}: a key has name, key or sha256, scope, requests_per_second, connections, "
                   "queued",
                   entry.where);
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Status CheckKeyName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '@';
  };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), fits))
    return Err(ErrorCode::kInvalid,
               "a key's name is 1 to 64 letters, digits, or one of '-_.@', without blanks");
  return {};
}

Result<std::vector<ApiKey>> ParseKeys(std::string_view text) {
  const std::string_view start = Trim(text);
  const bool is_json = start.starts_with('{') || start.starts_with('[');
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                         is_json ? ReadJson(text) : ReadLines(text));
  if (entries.empty())
    return Err(ErrorCode::kInvalid, "there is no key in it; `assay keys new` makes one");
  if (entries.size() > kMaxKeys)
    return Err(ErrorCode::kInvalid, "{} keys are over the limit of {}", entries.size(), kMaxKeys);
  std::vector<ApiKey> keys;
  for (const Entry& entry : entries) {
    ASSAY_ASSIGN_OR_RETURN(ApiKey key, MakeApiKey(entry));
    for (const ApiKey& other : keys)
      if (other.sha256 == key.sha256)
        return Err(ErrorCode::kInvalid, "{}: the keys of '{}' and '{}' are the same", entry.where,
                   other.name, key.name);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::string MakeKey() {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string key = "ak_";
  for (const char byte : RandomBytes(43)) key += kAlphabet[static_cast<uint8_t>(byte) % 64];
  return key;
}

std::string KeyLine(std::string_view name, std::string_view key, Scope scope) {
  return fmt::format("{} {}{} {}", name, kHashPrefix, Sha256Hex(key), ScopeName(scope));
}

}  // namespace assay::http
