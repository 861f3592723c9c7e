#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/key_file.h"
#include "http/message.h"

namespace assay::http {

/// Allows `rate` events a second on average and `burst` at once.
class TokenBucket {
 public:
  TokenBucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}
  /// Takes one and returns 0, or returns the seconds until there is one.
  double Take(TimePoint now);
  /// Seconds until there is one; takes none.
  double Wait(TimePoint now);
  [[nodiscard]] double rate() const { return rate_; }

 private:
  void Fill(TimePoint now);

  double rate_;
  double burst_;
  double tokens_;
  TimePoint filled_{};
};

/// The keys of a listener: who is who, how much each may do, and who guesses. Thread-safe.
///
/// Keys are compared as hashes, all of them, in constant time. An address that sends ten wrong keys
/// waits six seconds for each further one, which keeps the log and the comparing small: keys are
/// far too long to be guessed, so a right one always works, whoever else is behind that address. No
/// key is ever logged or quoted.
class KeyRing {
 public:
  /// Reads `path` (see ParseKeys).
  static Result<std::unique_ptr<KeyRing>> Load(std::string path);
  explicit KeyRing(std::vector<ApiKey> keys);

  /// Reads the file again. After an error the old keys stay.
  Status Reload();

  /// The key of a request: `Authorization: Bearer`, the password of `Authorization: Basic`,
  /// `X-API-Key`, or, where `token_query` allows it, `?token=`. `peer`: the address without the
  /// port, for counting wrong keys.
  Identity Authenticate(const Request& request, bool token_query, const std::string& peer);

  /// Counts a request of a key; 0, or the seconds until it may come again.
  double Admit(const std::string& name);

  /// The quota of a key; nothing when there is no such key (any more).
  [[nodiscard]] std::optional<KeyQuota> Quota(const std::string& name) const;

  /// Whether that very key still has at least that scope; asked after a reload.
  [[nodiscard]] bool StillGood(const Identity& who) const;

  /// Rises with every reload.
  [[nodiscard]] uint64_t generation() const { return generation_.load(); }

 private:
  [[nodiscard]] const ApiKey* Find(const Digest& digest) const;
  TokenBucket& FailuresOf(const std::string& address);

  mutable std::mutex mutex_;
  std::string path_;
  std::vector<ApiKey> keys_;
  std::map<std::string, TokenBucket> failures_;  ///< by address
  std::map<std::string, TokenBucket> rates_;
  std::atomic<uint64_t> generation_{0};
};

/// Notices that a key was withdrawn by a reload. One per connection.
class KeyWatch {
 public:
  /// `keys` outlives it; null: no keys are used, and none is ever withdrawn.
  explicit KeyWatch(const KeyRing* keys) : keys_(keys) { Begin(); }
  /// From now on.
  void Begin() { seen_ = keys_ == nullptr ? 0 : keys_->generation(); }
  /// Whether a reload since has withdrawn the key of `who`; true once.
  [[nodiscard]] bool Withdrawn(const Identity& who);

 private:
  const KeyRing* keys_;
  uint64_t seen_ = 0;
};

}  // namespace assay::http
