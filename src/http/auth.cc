#include "http/auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/fd.h"
#include "base/log.h"
#include "base/strings.h"

namespace assay::http {
namespace {

constexpr size_t kMaxKeyFile = 4u << 20;
constexpr double kFailureBurst = 10;      // a person's typing errors
constexpr double kFailureRate = 1.0 / 6;  // ten tries a minute find no key
constexpr double kRateBurstSeconds = 2;   // of requests that a key may send at once
constexpr size_t kMaxPeers = 8192;        // remembered; about 1 MiB

Result<std::vector<ApiKey>> ReadKeyFile(const std::string& path) {
  Result<std::string> text = ReadFile(path, kMaxKeyFile);
  if (!text.ok()) return Err(ErrorCode::kInvalid, "key file: {}", text.error().message);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
    LogWarn("key file '{}' is open to other users; `chmod 600 {}`", path, path);
  Result<std::vector<ApiKey>> keys = ParseKeys(*text);
  if (!keys.ok()) return Err(ErrorCode::kInvalid, "key file '{}': {}", path, keys.error().message);
  return keys;
}

/// Eight characters of the hash: enough to tell keys apart, useless to find one.
std::string KeyId(const Digest& digest) { return Hex(digest).substr(0, 8); }

/// The password of HTTP Basic's "base64(user:password)"; empty where it is none.
std::string BasicPassword(std::string_view encoded) {
  if (encoded.size() % 4 != 0) return "";
  std::string text(encoded.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(encoded.data()),
                                   static_cast<int>(encoded.size()));
  const size_t colon = text.find(':');
  if (size < 0 || colon == std::string::npos) return "";
  // The padding is decoded too, to zero bytes.
  const size_t padding = encoded.ends_with("==") ? 2 : encoded.ends_with('=') ? 1 : 0;
  text.resize(static_cast<size_t>(size) - std::min(padding, static_cast<size_t>(size)));
  return colon < text.size() ? text.substr(colon + 1) : "";
}

/// The key that a request carries, empty when it carries none.
std::string Credential(const Request& request, bool token_query) {
  if (const auto field = request.headers.Find("Authorization"); field) {
    const size_t space = std::min(field->find(' '), field->size());
    const std::string scheme = ToLower(field->substr(0, space));
    const std::string_view rest = Trim(field->substr(space));
    if (scheme == "bearer") return std::string(rest);
    // All that a URL can carry, and so a client that sends no headers of its own.
    if (scheme == "basic")
      if (std::string password = BasicPassword(rest); !password.empty()) return password;
  }
  if (const auto field = request.headers.Find("X-API-Key"); field) return std::string(Trim(*field));
  if (token_query)
    if (const auto token = request.Query("token"); token) return std::string(*token);
  return "";
}

}  // namespace

void TokenBucket::Fill(TimePoint now) {
  if (filled_ != TimePoint{} && now > filled_)
    tokens_ = std::min(burst_, tokens_ + rate_ * Seconds(now - filled_).count());
  filled_ = now;
}

double TokenBucket::Wait(TimePoint now) {
  Fill(now);
  return tokens_ >= 1 ? 0 : (1 - tokens_) / rate_;
}

double TokenBucket::Take(TimePoint now) {
  const double wait = Wait(now);
  if (wait == 0) tokens_ -= 1;
  return wait;
}

Result<std::unique_ptr<KeyRing>> KeyRing::Load(std::string path) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<ApiKey> keys, ReadKeyFile(path));
  auto ring = std::make_unique<KeyRing>(std::move(keys));
  ring->path_ = std::move(path);
  return ring;
}

KeyRing::KeyRing(std::vector<ApiKey> keys) : keys_(std::move(keys)) {}

Status KeyRing::Reload() {
  ASSAY_ASSIGN_OR_RETURN(std::vector<ApiKey> keys, ReadKeyFile(path_));
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  rates_.clear();
  generation_.fetch_add(1);
  return {};
}

const ApiKey* KeyRing::Find(const Digest& digest) const {
  const ApiKey* found = nullptr;
  for (const ApiKey& key : keys_)
    if (CRYPTO_memcmp(key.sha256.data(), digest.data(), digest.size()) == 0) found = &key;
  return found;
}

TokenBucket& KeyRing::FailuresOf(const std::string& address) {
  if (failures_.size() >= kMaxPeers && !failures_.contains(address)) failures_.clear();
  return failures_.try_emplace(address, kFailureRate, kFailureBurst).first->second;
}

Identity KeyRing::Authenticate(const Request& request, bool token_query, const std::string& peer) {
  Identity who;
  const std::string credential = Credential(request, token_query);
  if (credential.empty()) return who;
  const Digest digest = Sha256(credential);
  const std::lock_guard lock(mutex_);
  const ApiKey* key = Find(digest);
  if (key == nullptr) {
    if (const double wait = FailuresOf(peer).Take(Clock::now()); wait > 0) {
      who.retry_after_s = wait;
      who.problem = fmt::format("too many wrong keys from this address; try again in {:.0f} s",
                                std::max(wait, 1.0));
    } else {
      who.problem = "this key is not known; ask the operator, who makes keys with `assay keys new`";
    }
    return who;
  }
  who.key_name = key->name;
  who.key_id = KeyId(digest);
  who.scope = key->scope;
  return who;
}

double KeyRing::Admit(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto rate = rates_.find(name);
  if (rate == rates_.end()) {
    const auto key = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const ApiKey& other) { return other.name == name; });
    if (key == keys_.end() || key->quota.requests_per_second <= 0) return 0;
    const double rps = key->quota.requests_per_second;
    rate = rates_.try_emplace(name, rps, std::max(1.0, rps * kRateBurstSeconds)).first;
  }
  return rate->second.Take(Clock::now());
}

std::optional<KeyQuota> KeyRing::Quota(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const ApiKey& key : keys_)
    if (key.name == name) return key.quota;
  return std::nullopt;
}

bool KeyRing::StillGood(const Identity& who) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(keys_.begin(), keys_.end(), [&](const ApiKey& key) {
    return key.name == who.key_name && Includes(key.scope, who.scope) &&
           KeyId(key.sha256) == who.key_id;
  });
}

bool KeyWatch::Withdrawn(const Identity& who) {
  if (keys_ == nullptr || keys_->generation() == seen_) return false;
  Begin();
  return !who.key_id.empty() && !keys_->StillGood(who);
}

}  // namespace assay::http
