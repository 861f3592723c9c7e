#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace assay::http {

/// Where a server is.
struct ServerAddress {
  std::string host;
  std::string port;
  std::string prefix;  ///< of all paths: what the URL had behind the port
  std::string unix_path;
  bool tls = false;
};

/// "http://host:port", "https://host:port/prefix", "unix:/path". kInvalid says what is expected.
Result<ServerAddress> ParseServerUrl(const std::string& url);

/// Whom to believe that it is the server, with https.
struct TlsTrust {
  std::string ca_file;    ///< PEM; empty: the system's authorities, or those of $SSL_CERT_FILE
  bool insecure = false;  ///< anybody
};

/// Asks one server, over one connection that is kept open. Blocks; for one thread at a time.
class Client {
 public:
  /// `key`: sent as bearer token unless empty; it has no line ends.
  Client(ServerAddress address, std::string key, TlsTrust trust = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  struct Answer {
    int status = 0;
    std::string body;
    /// Why it refuses, in the server's own words: of any of its shapes of errors.
    [[nodiscard]] std::string Words() const;
  };
  /// A connection that the server closed meanwhile is replaced, and the request sent
  /// again: it must be one that may come twice. kUnavailable: nobody answers there; kTimeout;
  /// kProtocol: it speaks no HTTP, or its certificate is not trusted. Any answer is an answer,
  /// whatever its status.
  Result<Answer> Get(const std::string& path, Seconds timeout);
  /// The same with JSON.
  Result<Answer> Post(const std::string& path, const std::string& body, Seconds timeout);

 private:
  class Connection;
  Result<Answer> Ask(const std::string& request, Seconds timeout);
  [[nodiscard]] std::string Head(const char* method, const std::string& path) const;
  Result<Answer> Exchange(const std::string& request, TimePoint deadline);

  const ServerAddress address_;
  const std::string key_;
  const TlsTrust trust_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace assay::http
