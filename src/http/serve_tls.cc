#include <boost/asio/ssl/context.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include "http/http_connection.h"

namespace assay::http {
namespace {

using SslContext = asio::ssl::context;
using TlsStream = boost::beast::ssl_stream<Socket>;

Result<std::shared_ptr<SslContext>> MakeContext(const std::string& certificate_file,
                                                const std::string& key_file) {
  auto context = std::make_shared<SslContext>(SslContext::tls_server);
  ErrorCodeOf error;
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // Compression leaks, renegotiation costs the server more than the client.
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  context->use_certificate_chain_file(certificate_file, error);
  if (error)
    return Err(ErrorCode::kInvalid, "--tls-cert '{}': {}; it must be a PEM file", certificate_file,
               error.message());
  context->use_private_key_file(key_file, SslContext::pem, error);
  if (error)
    return Err(ErrorCode::kInvalid,
               "--tls-key '{}': {}; it must be the PEM file of the certificate's key", key_file,
               error.message());
  return context;
}

class TlsContextImpl final : public TlsContext {
 public:
  TlsContextImpl(std::string certificate_file, std::string key_file,
                 std::shared_ptr<SslContext> context)
      : certificate_file_(std::move(certificate_file)),
        key_file_(std::move(key_file)),
        context_(std::move(context)) {}

  Status Reload() override {
    ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<SslContext> fresh,
                           MakeContext(certificate_file_, key_file_));
    const std::lock_guard lock(mutex_);
    context_ = std::move(fresh);
    return {};
  }

  std::shared_ptr<SslContext> current() {
    const std::lock_guard lock(mutex_);
    return context_;
  }

 private:
  const std::string certificate_file_;
  const std::string key_file_;
  std::mutex mutex_;
  std::shared_ptr<SslContext> context_;
};

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::Load(const std::string& certificate_file,
                                                     const std::string& key_file) {
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<SslContext> context,
                         MakeContext(certificate_file, key_file));
  return std::shared_ptr<TlsContext>(
      std::make_shared<TlsContextImpl>(certificate_file, key_file, std::move(context)));
}

void ServeTls(Loop& loop, std::shared_ptr<const Site> site, Accepted accepted, TlsContext* tls) {
  Socket socket(loop.context());
  ErrorCodeOf error;
  socket.assign(asio::generic::stream_protocol(accepted.family, 0), accepted.fd.Release(), error);
  if (error) return;
  // The stream holds its own reference to the context's OpenSSL object.
  const std::shared_ptr<SslContext> context = static_cast<TlsContextImpl*>(tls)->current();
  TlsStream stream(std::move(socket), *context);
  std::make_shared<HttpConnection<TlsStream>>(loop, std::move(site), std::move(stream),
                                              std::move(accepted))
      ->Start();
}

}  // namespace assay::http
