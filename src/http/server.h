#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/result.h"
#include "http/auth.h"
#include "http/limits.h"
#include "http/router.h"
#include "http/timer.h"

namespace assay::http {

struct ServerOptions {
  Limits limits;
  int threads = 0;                    ///< that serve; 0: one per core, at most 4
  MetricRegistry* metrics = nullptr;  ///< may be null; outlives the server
  bool access_log = true;
};

/// One address to serve, with what is served there.
struct ListenOptions {
  std::string host = "127.0.0.1";  ///< address or name; "0.0.0.0" or "::" for all
  uint16_t port = 8000;            ///< 0: the system chooses
  std::string unix_path;  ///< if set, a Unix socket instead; one that nobody serves is replaced
  std::shared_ptr<const Router> router;
  std::shared_ptr<KeyRing> keys;     ///< null: open to everybody who can connect
  bool token_query = false;          ///< WebSocket upgrades may carry the key as ?token=
  std::vector<std::string> origins;  ///< of web pages beside its own; "*": all
  std::vector<std::string> hosts;    ///< names in Host headers that are served; empty: all
  std::string tls_certificate;       ///< PEM files; both or none
  std::string tls_key;
};

/// An HTTP/1.1 and WebSocket server. Connections are spread over a few threads and stay there;
/// handlers run on these threads and must not block. Used from one thread, but for timers().
///
///     running ──BeginDrain()──▶ draining ──Stop()──▶ stopped
///
/// Draining: no new connections; idle ones close; each request that has begun is answered;
/// WebSocket sessions are closed with 1012 as soon as they owe no answer.
class Server {
 public:
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  virtual ~Server() = default;

  /// Serves one more address and gives its port. kInvalid, kUnavailable (in use) say what to do.
  virtual Result<uint16_t> Listen(ListenOptions options) = 0;

  virtual void BeginDrain() = 0;
  /// Whether the last connection has gone.
  [[nodiscard]] virtual bool Drained() const = 0;
  /// Ends everything at once. Sessions get their OnClose(). The destructor calls it.
  virtual void Stop() = 0;

  /// Reads certificates and keys of all listeners again; the first failure is returned and the
  /// things it concerns stay as they were.
  virtual Status Reload() = 0;

  /// Works until Stop(); timers that are set later never fire. Lives as long as the server.
  [[nodiscard]] virtual Timers& timers() = 0;
  [[nodiscard]] virtual size_t connections() const = 0;
  [[nodiscard]] virtual size_t websockets() const = 0;
};

}  // namespace assay::http
