#include "cli/http_get.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <memory>

#include "base/fd.h"
#include "base/json.h"
#include "base/strings.h"

namespace assay {
namespace {

constexpr size_t kMaxAnswer = 64u << 20;

struct Address {
  bool tls = false;
  std::string host;
  std::string port;
  std::string prefix;
};

Result<Address> ParseUrl(const std::string& url) {
  std::string_view rest = url;
  Address address;
  address.tls = rest.starts_with("https://");
  for (const std::string_view scheme : {"https://", "http://"})
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    address.prefix = rest.substr(slash);
    rest = rest.substr(0, slash);
  }
  const size_t colon = rest.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos;
  address.host = rest.substr(0, has_port ? colon : std::string_view::npos);
  address.port = has_port ? rest.substr(colon + 1) : address.tls ? "443" : "80";
  if (address.host.empty() || address.host.find_first_of(" \r\n") != std::string::npos)
    return Err(ErrorCode::kInvalid, "'{}' is no URL like http://127.0.0.1:8000", url);
  return address;
}

/// The host without the brackets of an IPv6 address.
std::string BareHost(const Address& address) {
  const std::string& host = address.host;
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

/// Until the socket is ready for `events`.
Status Await(int fd, short events, TimePoint deadline) {
  pollfd wait{fd, events, 0};
  if (::poll(&wait, 1, PollTimeout(deadline)) > 0) return {};
  return Err(ErrorCode::kTimeout, "the server does not answer in time");
}

Status ConnectTo(int fd, const addrinfo& info, TimePoint deadline) {
  if (::connect(fd, info.ai_addr, info.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return ErrnoError("connect", errno);
  ASSAY_RETURN_IF_ERROR(Await(fd, POLLOUT, deadline));
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem == 0 ? Status{} : Status(ErrnoError("connect", problem));
}

Result<UniqueFd> Connect(const Address& address, TimePoint deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code =
          ::getaddrinfo(BareHost(address).c_str(), address.port.c_str(), &hints, &found);
      code != 0)
    return Err(ErrorCode::kUnavailable, "{}: {}", address.host, ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::string problem;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    UniqueFd fd(::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const Status status =
        fd.valid() ? ConnectTo(fd.get(), *info, deadline) : Status(ErrnoError("socket", errno));
    if (status.ok()) return fd;
    problem = status.error().message;
  }
  return Err(ErrorCode::kUnavailable, "no server at {}:{} ({}); start one with `assay serve`",
             address.host, address.port, problem);
}

/// One connection, plain or encrypted, every operation of which ends at the deadline.
class Connection {
 public:
  Connection(UniqueFd fd, TimePoint deadline) : fd_(std::move(fd)), deadline_(deadline) {}

  Status StartTls(const Address& address, const TlsTrust& trust) {
    context_.reset(::SSL_CTX_new(::TLS_client_method()));
    ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    // Where the server just closes, Content-Length says whether all has come.
    ::SSL_CTX_set_options(context_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (trust.ca_file.empty()) {
      ::SSL_CTX_set_default_verify_paths(context_.get());
    } else if (::SSL_CTX_load_verify_file(context_.get(), trust.ca_file.c_str()) != 1) {
      return Err(ErrorCode::kInvalid, "'{}' holds no certificates", trust.ca_file);
    }
    ::SSL_CTX_set_verify(context_.get(), trust.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                         nullptr);
    tls_.reset(::SSL_new(context_.get()));
    const std::string host = BareHost(address);
    if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(tls_.get()), host.c_str()) != 1) {
      ::SSL_set1_host(tls_.get(), host.c_str());
      // What SSL_set_tlsext_host_name() means, whose macro has a cast of the old style.
      ::SSL_ctrl(tls_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 const_cast<char*>(host.c_str()));
    }
    ::SSL_set_fd(tls_.get(), fd_.get());
    const Result<size_t> done = Tls([this] { return ::SSL_connect(tls_.get()); });
    if (done.ok()) return {};
    if (done.error().code == ErrorCode::kTimeout) return done.error();
    const long verified = ::SSL_get_verify_result(tls_.get());
    return Err(
        ErrorCode::kUnavailable, "{}:{} is not believed: {}", address.host, address.port,
        verified == X509_V_OK ? done.error().message : ::X509_verify_cert_error_string(verified));
  }

  Status Send(std::string_view left) {
    while (!left.empty()) {
      const int size = static_cast<int>(left.size());
      ASSAY_ASSIGN_OR_RETURN(
          const size_t sent,
          tls_ ? Tls([&] { return ::SSL_write(tls_.get(), left.data(), size); })
               : Plain(POLLOUT,
                       [&] { return ::send(fd_.get(), left.data(), left.size(), MSG_NOSIGNAL); }));
      left.remove_prefix(sent);
    }
    return {};
  }

  Result<std::string> ReadToEnd() {
    std::string answer;
    char bytes[16384];
    for (;;) {
      ASSAY_ASSIGN_OR_RETURN(
          const size_t size,
          tls_ ? Tls([&] { return ::SSL_read(tls_.get(), bytes, sizeof bytes); })
               : Plain(POLLIN, [&] { return ::recv(fd_.get(), bytes, sizeof bytes, 0); }));
      if (size == 0) return answer;
      answer.append(bytes, size);
      if (answer.size() > kMaxAnswer) return Err(ErrorCode::kProtocol, "the answer is too large");
    }
  }

 private:
  template <typename Operation>
  Result<size_t> Plain(short events, Operation operation) {
    for (;;) {
      ASSAY_RETURN_IF_ERROR(Await(fd_.get(), events, deadline_));
      const ssize_t size = operation();
      if (size >= 0) return static_cast<size_t>(size);
      if (errno != EAGAIN) return ErrnoError("talking to the server", errno);
    }
  }

  /// 0: the server has ended it.
  template <typename Operation>
  Result<size_t> Tls(Operation operation) {
    for (;;) {
      ::ERR_clear_error();
      const int size = operation();
      if (size > 0) return static_cast<size_t>(size);
      const int problem = ::SSL_get_error(tls_.get(), size);
      if (problem == SSL_ERROR_ZERO_RETURN) return size_t{0};
      if (problem != SSL_ERROR_WANT_READ && problem != SSL_ERROR_WANT_WRITE) {
        const char* reason = ::ERR_reason_error_string(::ERR_peek_error());
        return Err(ErrorCode::kUnavailable, "TLS: {}",
                   reason == nullptr ? "the connection is lost" : reason);
      }
      ASSAY_RETURN_IF_ERROR(
          Await(fd_.get(), static_cast<short>(problem == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT),
                deadline_));
    }
  }

  UniqueFd fd_;
  TimePoint deadline_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{nullptr, &::SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&::SSL_free)> tls_{nullptr, &::SSL_free};
};

/// What the head says of the body's length; `otherwise` where it does not.
size_t ContentLength(std::string_view head, size_t otherwise) {
  constexpr std::string_view kName = "content-length:";
  for (const std::string_view line : Split(head, '\n'))
    if (ToLower(line).starts_with(kName)) {
      const std::string_view value = Trim(line.substr(kName.size()));
      std::from_chars(value.data(), value.data() + value.size(), otherwise);
    }
  return otherwise;
}

/// The server's own words, in any of its error shapes.
std::string Reason(std::string_view body) {
  const Result<json::object> object = ParseJsonObject(body);
  if (!object.ok()) return CleanText(body.substr(0, 200));
  const std::string native = GetString(GetObject(*object, "error"), "message");
  return native.empty() ? GetString(*object, "detail", body.substr(0, 200)) : native;
}

}  // namespace

Result<std::string> HttpGet(const std::string& url, const std::string& path, const std::string& key,
                            Seconds timeout, const TlsTrust& trust) {
  ASSAY_ASSIGN_OR_RETURN(const Address address, ParseUrl(url));
  if (key.find_first_of("\r\n") != std::string::npos)
    return Err(ErrorCode::kInvalid, "a key has no line ends");
  const TimePoint deadline = DeadlineIn(timeout);
  ASSAY_ASSIGN_OR_RETURN(UniqueFd fd, Connect(address, deadline));
  Connection connection(std::move(fd), deadline);
  if (address.tls) ASSAY_RETURN_IF_ERROR(connection.StartTls(address, trust));
  // HTTP/1.0: the answer comes whole and ends with the connection.
  std::string request = fmt::format("GET {}{} HTTP/1.0\r\nHost: {}:{}\r\n", address.prefix, path,
                                    address.host, address.port);
  if (!key.empty()) request += fmt::format("Authorization: Bearer {}\r\n", key);
  request += "\r\n";
  ASSAY_RETURN_IF_ERROR(connection.Send(request));
  ASSAY_ASSIGN_OR_RETURN(const std::string answer, connection.ReadToEnd());
  const size_t end = answer.find("\r\n\r\n");
  int status = 0;
  if (end == std::string::npos || !answer.starts_with("HTTP/1.") || answer.size() < 12)
    return Err(ErrorCode::kProtocol, "{}:{} does not speak HTTP{}", address.host, address.port,
               address.tls ? "" : "; is it https?");
  std::from_chars(answer.data() + 9, answer.data() + 12, status);
  std::string body = answer.substr(end + 4);
  if (body.size() < ContentLength(std::string_view(answer).substr(0, end), body.size()))
    return Err(ErrorCode::kUnavailable, "the connection ended within the answer");
  if (status != 200)
    return Err(ErrorCode::kInvalid, "{} answers {}: {}", path, status, Reason(body));
  return body;
}

}  // namespace assay
