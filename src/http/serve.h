#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "http/loop.h"
#include "http/site.h"

namespace assay::http {

/// An accepted socket with what belongs to it.
struct Accepted {
  UniqueFd fd;
  int family = 0;          ///< AF_INET, AF_INET6, AF_UNIX
  std::string peer;        ///< "127.0.0.1:53122"
  std::string peer_group;  ///< the address without the port; of IPv6 the /64 network
  Place place;
};

/// Certificate and key of a listener, replaced by Reload() while connections run. Thread-safe.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// kInvalid, with the reason, when a file is missing or the two do not belong together.
  static Result<std::shared_ptr<TlsContext>> Load(const std::string& certificate_file,
                                                  const std::string& key_file);
  /// Reads the files again. After an error the old ones stay.
  virtual Status Reload() = 0;
};

/// Starts a connection on `loop`; called on its thread.
void ServePlain(Loop& loop, std::shared_ptr<const Site> site, Accepted accepted);
void ServeTls(Loop& loop, std::shared_ptr<const Site> site, Accepted accepted, TlsContext* tls);

}  // namespace assay::http
