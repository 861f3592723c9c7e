#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "http/auth.h"
#include "http/limits.h"
#include "http/router.h"

namespace assay::http {

/// What a server's connections share: limits, counts, the state of draining. Thread-safe.
struct Shared {
  explicit Shared(const Limits& server_limits, MetricRegistry* registry);

  const Limits limits;
  std::atomic<bool> draining{false};
  std::atomic<size_t> connections{0};
  std::atomic<size_t> websockets{0};
  bool access_log = true;

  /// Counts a finished request.
  void CountRequest(std::string_view method, int status, Seconds took);
  /// Counts a connection that was closed for a reason of ours ("slow_reader", "timeout", ...).
  void CountDrop(const char* reason);
  /// Counts a request that may come again later: of a key with too many "connections" or
  /// "requests", after "wrong_keys", or because too much is in "memory".
  void CountThrottled(const char* reason);

  /// True, and counted, unless the key has as many connections as it may. `limit` 0: none.
  bool EnterKey(const std::string& key, size_t limit);
  void LeaveKey(const std::string& key);
  /// The same for connections of an address whose client is not known yet.
  bool EnterStranger(const std::string& address);
  void LeaveStranger(const std::string& address);

  /// Counts bytes in flight; false, and not counted, beyond what all or `holder` may have. Where
  /// no keys are used the holder is "", whom nobody else waits for.
  bool EnterBytes(const std::string& holder, size_t bytes);
  void LeaveBytes(const std::string& holder, size_t bytes);
  [[nodiscard]] size_t inflight_bytes() const;

 private:
  static constexpr size_t kMethods = 8;  ///< the known ones and "other"
  static constexpr size_t kStatuses = 500;

  MetricRegistry* metrics_;  ///< may be null
  Histogram* seconds_ = nullptr;
  /// By method and status, filled when first needed: no lock and no lookup for each request.
  std::array<std::atomic<Counter*>, kMethods * kStatuses> requests_{};
  mutable std::mutex mutex_;  ///< guards what follows
  std::map<std::string, size_t> per_key_;
  std::map<std::string, size_t> strangers_;
  std::map<std::string, size_t> bytes_of_;
  size_t inflight_bytes_ = 0;
};

/// One connection's place among all: first among its address's strangers, then among its key's.
class Place {
 public:
  /// Nothing where there is no place left.
  static std::optional<Place> Take(std::shared_ptr<Shared> shared, const std::string& address);
  Place(Place&& other) noexcept = default;
  Place& operator=(Place&&) = delete;
  ~Place();
  /// Counts the connection among `key`'s; false when that has no place left.
  bool Claim(const std::string& key, size_t limit);
  /// The client is no stranger any more.
  void Known();

 private:
  Place(std::shared_ptr<Shared> shared, std::string address)
      : shared_(std::move(shared)), address_(std::move(address)) {}

  std::shared_ptr<Shared> shared_;
  std::string address_;  ///< empty once known
  std::string key_;
};

/// Bytes of a body or message in flight, counted beyond the first 64 KiB. Gives them back at its
/// end.
class InflightBytes {
 public:
  explicit InflightBytes(Shared* shared) : shared_(shared) {}
  InflightBytes(const InflightBytes&) = delete;
  InflightBytes& operator=(const InflightBytes&) = delete;
  ~InflightBytes() { Release(); }
  /// Holds `bytes` altogether for `holder`, always the same one; false, and unchanged, when it or
  /// all together hold too much.
  bool Hold(size_t bytes, const std::string& holder);
  void Release();

 private:
  Shared* shared_;
  std::string holder_;
  size_t held_ = 0;
};

/// What a listener serves and to whom; fixed once it listens.
struct Site {
  std::shared_ptr<const Router> router;
  std::shared_ptr<KeyRing> keys;  ///< null: everybody is kLocal and may do everything
  bool token_query = false;       ///< WebSocket upgrades may carry the key as ?token=
  /// Origins of web pages that may use it beside its own; "*": all. Browsers name the page's
  /// origin; other clients name none and are not asked.
  std::vector<std::string> origins;
  /// Names in Host headers that are served, beside addresses; empty: all. It keeps web pages out
  /// whose name was made to resolve to this machine.
  std::vector<std::string> hosts;
  std::shared_ptr<Shared> shared;

  /// Whose bytes in flight a client's are (see Shared::EnterBytes): its key's, its address's
  /// without one, nobody's where no keys are used.
  [[nodiscard]] std::string Holder(const Identity& who, const std::string& address) const {
    if (keys == nullptr) return "";
    return who.key_name.empty() ? "@" + address : who.key_name;
  }
};

}  // namespace assay::http
