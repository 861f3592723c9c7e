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

/// Asks one server, over one connection that is kept open. Blocks; for one thread at a time.
///
/// Certificates of https are checked against the system's, or those of $SSL_CERT_FILE.
class Client {
 public:
  /// `key`: sent as bearer token unless empty.
  Client(ServerAddress address, std::string key);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  struct Answer {
    int status = 0;
    std::string body;
  };
  /// POSTs JSON. A connection that the server closed meanwhile is replaced, and the request sent
  /// again: it must be one that may come twice. kUnavailable: nobody answers there; kTimeout,
  /// kProtocol. Any answer is an answer, whatever its status.
  Result<Answer> Post(const std::string& path, const std::string& body, Seconds timeout);

 private:
  class Connection;
  Result<Answer> Exchange(const std::string& request, TimePoint deadline);

  const ServerAddress address_;
  const std::string key_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace assay::http
