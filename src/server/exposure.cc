#include "server/exposure.h"

#include <arpa/inet.h>

#include "base/log.h"
#include "base/strings.h"

namespace assay {

bool IsLoopback(const std::string& host) {
  const std::string name = ToLower(host);
  if (name == "localhost" || name == "::1" || name == "[::1]") return true;
  // Not by the text: 127.example.org is a name, and somebody else's.
  in_addr address{};
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

namespace {

/// A web page can make its own name resolve to this machine; its Host header still tells.
std::vector<std::string> ServedHosts(const ExposureOptions& exposure) {
  const bool open_loopback = exposure.api_key_file.empty() && IsLoopback(exposure.host);
  if (!open_loopback && exposure.hosts.empty()) return {};
  std::vector<std::string> hosts = {"localhost", ToLower(exposure.host)};
  for (const std::string& host : exposure.hosts) hosts.push_back(ToLower(host));
  return hosts;
}

}  // namespace

Result<http::ListenOptions> MakeListenOptions(const ExposureOptions& exposure) {
  http::ListenOptions listen;
  listen.host = exposure.host;
  listen.token_query = exposure.token_query;
  listen.origins = exposure.origins;
  listen.hosts = ServedHosts(exposure);
  listen.tls_certificate = exposure.tls_certificate;
  listen.tls_key = exposure.tls_key;
  if (exposure.tls_certificate.empty() != exposure.tls_key.empty())
    return Err(ErrorCode::kInvalid, "TLS needs both --tls-cert and --tls-key");
  const bool loopback = IsLoopback(exposure.host);
  if (!exposure.api_key_file.empty()) {
    if (exposure.insecure)
      return Err(ErrorCode::kInvalid,
                 "--insecure serves without keys; leave it or the key file out (--api-key-file, "
                 "KERNEL_ENV_API_KEY_FILE)");
    ASSAY_ASSIGN_OR_RETURN(listen.keys, http::KeyRing::Load(exposure.api_key_file));
    if (!loopback && exposure.tls_certificate.empty())
      LogWarn("keys travel in the clear on {}; --tls-cert and --tls-key encrypt them",
              exposure.host);
    return listen;
  }
  if (exposure.token_query)
    return Err(ErrorCode::kInvalid, "--allow-token-query needs --api-key-file");
  if (!loopback && !exposure.insecure)
    return Err(ErrorCode::kInvalid,
               "on {} everybody who reaches this machine could use it. Make a key with `assay keys "
               "new --name me --scope submit --file keys.txt` and add `--api-key-file keys.txt`; "
               "or add --insecure if the network lets only friends in",
               exposure.host);
  return listen;
}

}  // namespace assay
