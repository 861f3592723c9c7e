#include "http/http_connection.h"

namespace assay::http {

void ServePlain(Loop& loop, std::shared_ptr<const Site> site, Accepted accepted) {
  Socket socket(loop.context());
  ErrorCodeOf error;
  socket.assign(asio::generic::stream_protocol(accepted.family, 0), accepted.fd.Release(), error);
  if (error) return;
  std::make_shared<HttpConnection<Socket>>(loop, std::move(site), std::move(socket),
                                           std::move(accepted))
      ->Start();
}

}  // namespace assay::http
