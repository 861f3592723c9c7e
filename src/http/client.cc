#include "http/client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstring>

#include "base/fd.h"
#include "base/json.h"
#include "base/strings.h"

namespace assay::http {
namespace {

namespace beast = boost::beast;
using Parser = beast::http::response_parser<beast::http::string_body>;

constexpr size_t kMaxAnswer = 64u << 20;
constexpr size_t kMaxHead = 64u << 10;
constexpr Seconds kConnect{10};

std::string Name(const ServerAddress& address) {
  return address.unix_path.empty() ? address.host + ":" + address.port : address.unix_path;
}

/// Of an IPv6 address in a URL.
std::string WithoutBrackets(const std::string& host) {
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

Error NobodyThere(const ServerAddress& address, const std::string& why) {
  return Err(ErrorCode::kUnavailable, "no server at {} ({}); `assay serve` starts one",
             Name(address), why);
}

/// False at the deadline.
bool WaitFor(int fd, short events, TimePoint deadline) {
  for (;;) {
    pollfd wait{fd, events, 0};
    const int ready = ::poll(&wait, 1, PollTimeout(deadline));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Status Connect(int fd, const sockaddr* name, socklen_t size, TimePoint deadline) {
  if (::connect(fd, name, size) == 0) return {};
  if (errno != EINPROGRESS) return ErrnoError("connect", errno);
  if (!WaitFor(fd, POLLOUT, deadline)) return Err(ErrorCode::kTimeout, "connect: no answer");
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  return error == 0 ? Status() : Status(ErrnoError("connect", error));
}

UniqueFd MakeSocket(int family) {
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Result<UniqueFd> ConnectUnix(const ServerAddress& address, TimePoint deadline) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.unix_path.size() >= sizeof name.sun_path)
    return Err(ErrorCode::kInvalid, "the path '{}' is too long for a socket", address.unix_path);
  std::memcpy(name.sun_path, address.unix_path.data(), address.unix_path.size());
  UniqueFd fd = MakeSocket(AF_UNIX);
  if (!fd.valid()) return ErrnoError("socket", errno);
  const Status connected =
      Connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name, deadline);
  if (!connected.ok()) return NobodyThere(address, connected.error().message);
  return fd;
}

Result<UniqueFd> ConnectTcp(const ServerAddress& address, TimePoint deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code =
      ::getaddrinfo(WithoutBrackets(address.host).c_str(), address.port.c_str(), &hints, &found);
  if (code != 0) return NobodyThere(address, ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::string why = "it has no address";
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    UniqueFd fd = MakeSocket(info->ai_family);
    if (!fd.valid()) continue;
    const Status connected = Connect(fd.get(), info->ai_addr, info->ai_addrlen, deadline);
    if (connected.ok()) {
      const int on = 1;
      ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return fd;
    }
    why = connected.error().message;
  }
  return NobodyThere(address, why);
}

std::string TlsReason() {
  char text[256] = "the peer speaks no TLS";
  if (const unsigned long code = ::ERR_get_error(); code != 0)
    ::ERR_error_string_n(code, text, sizeof text);
  ::ERR_clear_error();
  return text;
}

struct FreeSsl {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { ::SSL_free(ssl); }
};

}  // namespace

Result<ServerAddress> ParseServerUrl(const std::string& url) {
  ServerAddress address;
  std::string_view rest = url;
  if (rest.starts_with("unix:")) {
    rest.remove_prefix(5);
    if (rest.starts_with("//")) rest.remove_prefix(2);
    address.unix_path = rest;
    address.host = "localhost";
    if (rest.empty()) return Err(ErrorCode::kInvalid, "'{}' names no socket: unix:/path", url);
    return address;
  }
  address.tls = rest.starts_with("https://");
  if (!address.tls && !rest.starts_with("http://"))
    return Err(ErrorCode::kInvalid,
               "'{}' is no server: give http://host:port, https://host:port or unix:/path", url);
  rest.remove_prefix(address.tls ? 8 : 7);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) address.prefix = rest.substr(slash);
  rest = rest.substr(0, slash);
  const size_t colon = rest.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos;
  address.host = rest.substr(0, has_port ? colon : std::string_view::npos);
  address.port = has_port ? std::string(rest.substr(colon + 1)) : address.tls ? "443" : "80";
  if (address.host.empty() || address.port.empty() ||
      url.find_first_of(" \t\r\n@?#") != std::string::npos)
    return Err(ErrorCode::kInvalid,
               "'{}' is no server: give http://host:port, https://host:port or unix:/path", url);
  return address;
}

/// A connected socket, with TLS or without.
class Client::Connection {
 public:
  static Result<std::unique_ptr<Connection>> Open(const ServerAddress& address,
                                                  const TlsTrust& trust, TimePoint deadline) {
    auto connection = std::make_unique<Connection>();
    ASSAY_ASSIGN_OR_RETURN(connection->fd_, address.unix_path.empty()
                                                ? ConnectTcp(address, deadline)
                                                : ConnectUnix(address, deadline));
    if (address.tls) ASSAY_RETURN_IF_ERROR(connection->Secure(address, trust, deadline));
    return connection;
  }

  Status Write(std::string_view bytes, TimePoint deadline) {
    while (!bytes.empty()) {
      ASSAY_ASSIGN_OR_RETURN(
          const size_t written, Transfer(POLLOUT, deadline, [&] {
            return ssl_ ? ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                        : ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
          }));
      if (written == 0) return Err(ErrorCode::kClosed, "the server closed the connection");
      bytes.remove_prefix(written);
    }
    return {};
  }

  /// 0 at the end.
  Result<size_t> Read(char* bytes, size_t size, TimePoint deadline) {
    return Transfer(POLLIN, deadline, [&]() -> ssize_t {
      return ssl_ ? ::SSL_read(ssl_.get(), bytes, static_cast<int>(size))
                  : ::recv(fd_.get(), bytes, size, 0);
    });
  }

  bool used = false;  ///< an answer came over it, so the server may have closed it since

 private:
  Status Secure(const ServerAddress& address, const TlsTrust& trust, TimePoint deadline) {
    const std::unique_ptr<SSL_CTX, FreeSsl> context(::SSL_CTX_new(::TLS_client_method()));
    if (!context) return Err(ErrorCode::kInternal, "TLS: {}", TlsReason());
    ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    if (trust.ca_file.empty())
      ::SSL_CTX_set_default_verify_paths(context.get());
    else if (::SSL_CTX_load_verify_file(context.get(), trust.ca_file.c_str()) != 1)
      return Err(ErrorCode::kInvalid, "'{}' holds no certificates", trust.ca_file);
    ::SSL_CTX_set_verify(context.get(), trust.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                         nullptr);
    // A write may be taken up again with the bytes elsewhere.
    ::SSL_CTX_set_mode(context.get(),
                       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    ssl_.reset(::SSL_new(context.get()));
    std::string host = WithoutBrackets(address.host);
    // The name of a certificate is a host's or an address.
    if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), host.c_str()) != 1) {
      ::ERR_clear_error();
      ::SSL_set1_host(ssl_.get(), host.c_str());
      // What SSL_set_tlsext_host_name() does, which is a macro with a cast of C.
      ::SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data());
    }
    ::SSL_set_fd(ssl_.get(), fd_.get());
    const Result<size_t> shaken =
        Transfer(POLLIN, deadline, [&] { return ::SSL_connect(ssl_.get()); });
    if (shaken.ok() && *shaken > 0) return {};
    if (const long verified = ::SSL_get_verify_result(ssl_.get());
        verified != X509_V_OK && !trust.insecure)
      return Err(ErrorCode::kProtocol,
                 "the certificate of {} is not trusted: {}; name the server as the certificate "
                 "does, and its authority with SSL_CERT_FILE=FILE in the environment",
                 Name(address), ::X509_verify_cert_error_string(verified));
    return NobodyThere(address, shaken.ok() ? "it closed the connection" : shaken.error().message);
  }

  /// Calls `operation` until it has moved something; 0 when the peer has closed.
  template <typename Operation>
  Result<size_t> Transfer(short events, TimePoint deadline, Operation operation) {
    for (;;) {
      ::ERR_clear_error();
      const auto moved = operation();
      if (moved > 0) return static_cast<size_t>(moved);
      short wanted = events;
      if (ssl_) {
        switch (::SSL_get_error(ssl_.get(), static_cast<int>(moved))) {
          case SSL_ERROR_WANT_READ:
            wanted = POLLIN;
            break;
          case SSL_ERROR_WANT_WRITE:
            wanted = POLLOUT;
            break;
          case SSL_ERROR_ZERO_RETURN:
            return size_t{0};
          default:
            return Err(ErrorCode::kClosed, "TLS: {}", TlsReason());
        }
      } else if (moved == 0) {
        return size_t{0};
      } else if (errno != EAGAIN && errno != EINTR) {
        return Err(ErrorCode::kClosed, "{}", ErrnoError("the connection broke", errno).message);
      }
      if (!WaitFor(fd_.get(), wanted, deadline))
        return Err(ErrorCode::kTimeout, "the server does not answer in time");
    }
  }

  UniqueFd fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
};

Client::Client(ServerAddress address, std::string key, TlsTrust trust)
    : address_(std::move(address)), key_(std::move(key)), trust_(std::move(trust)) {}

Client::~Client() = default;

Result<Client::Answer> Client::Exchange(const std::string& request, TimePoint deadline) {
  ASSAY_RETURN_IF_ERROR(connection_->Write(request, deadline));
  Parser parser;
  parser.body_limit(kMaxAnswer);
  parser.header_limit(kMaxHead);
  parser.eager(true);
  beast::flat_buffer buffer;
  while (!parser.is_done()) {
    const auto space = buffer.prepare(65536);
    ASSAY_ASSIGN_OR_RETURN(const size_t read, connection_->Read(static_cast<char*>(space.data()),
                                                                space.size(), deadline));
    buffer.commit(read);
    boost::system::error_code error;
    if (read == 0) {
      if (!parser.got_some()) return Err(ErrorCode::kClosed, "the server closed the connection");
      parser.put_eof(error);
    } else {
      // Each call may stop at the end of the head or of a chunk.
      while (!error && buffer.size() > 0 && !parser.is_done()) {
        const size_t taken = parser.put(buffer.data(), error);
        buffer.consume(taken);
        if (taken == 0) break;
      }
    }
    if (error && error != beast::http::error::need_more)
      return Err(ErrorCode::kProtocol, "the server's answer is not HTTP{}: {}",
                 address_.tls ? "" : ", maybe it is https", error.message());
  }
  connection_->used = true;
  Answer answer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
  if (!parser.get().keep_alive()) connection_.reset();
  return answer;
}

std::string Client::Answer::Words() const {
  std::string start = CleanText(std::string_view(body).substr(0, 200));
  const Result<json::object> object = ParseJsonObject(body);
  if (!object.ok()) return start;
  const std::string native = GetString(GetObject(*object, "error"), "message");
  return native.empty() ? GetString(*object, "detail", start) : native;
}

Result<Client::Answer> Client::Post(const std::string& path, const std::string& body,
                                    Seconds timeout) {
  return Ask(fmt::format("{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                         Head("POST", path), body.size(), body),
             timeout);
}

Result<Client::Answer> Client::Get(const std::string& path, Seconds timeout) {
  return Ask(Head("GET", path) + "\r\n", timeout);
}

std::string Client::Head(const char* method, const std::string& path) const {
  std::string head =
      fmt::format("{} {}{} HTTP/1.1\r\nHost: {}{}{}\r\n", method, address_.prefix, path,
                  address_.host, address_.port.empty() ? "" : ":", address_.port);
  if (!key_.empty()) head += fmt::format("Authorization: Bearer {}\r\n", key_);
  return head;
}

Result<Client::Answer> Client::Ask(const std::string& request, Seconds timeout) {
  const TimePoint deadline = DeadlineIn(timeout);
  for (;;) {
    const bool used = connection_ != nullptr && connection_->used;
    if (connection_ == nullptr) {
      ASSAY_ASSIGN_OR_RETURN(
          connection_,
          Connection::Open(address_, trust_, std::min(deadline, DeadlineIn(kConnect))));
    }
    Result<Answer> answer = Exchange(request, deadline);
    if (answer.ok()) return answer;
    connection_.reset();
    if (!used || answer.error().code != ErrorCode::kClosed)
      return answer.error().code == ErrorCode::kClosed
                 ? NobodyThere(address_,
                               answer.error().message + (address_.tls ? "" : ", maybe it is https"))
                 : answer.error();
  }
}

}  // namespace assay::http
