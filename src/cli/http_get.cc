#include "cli/http_get.h"

#include <netdb.h>
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
  std::string host;
  std::string port;
  std::string prefix;
};

Result<Address> ParseUrl(const std::string& url) {
  std::string_view rest = url;
  if (rest.starts_with("https://"))
    return Err(ErrorCode::kInvalid,
               "https is not spoken here; forward the port with ssh, or name the http address");
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  Address address;
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    address.prefix = rest.substr(slash);
    rest = rest.substr(0, slash);
  }
  const size_t colon = rest.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos;
  address.host = rest.substr(0, has_port ? colon : std::string_view::npos);
  address.port = has_port ? rest.substr(colon + 1) : "80";
  if (address.host.empty() || address.host.find_first_of(" \r\n") != std::string::npos)
    return Err(ErrorCode::kInvalid, "'{}' is no URL like http://127.0.0.1:8000", url);
  return address;
}

Result<UniqueFd> Connect(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::string host = address.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (const int code = ::getaddrinfo(host.c_str(), address.port.c_str(), &hints, &found); code != 0)
    return Err(ErrorCode::kUnavailable, "{}: {}", address.host, ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  int last_error = 0;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    UniqueFd fd(::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.valid() && ::connect(fd.get(), info->ai_addr, info->ai_addrlen) == 0) return fd;
    last_error = errno;
  }
  return Err(ErrorCode::kUnavailable, "no server at {}:{} ({}); start one with `assay serve`",
             address.host, address.port, ErrnoError("connect", last_error).message);
}

Result<std::string> ReadToEnd(int fd, TimePoint deadline) {
  std::string answer;
  for (;;) {
    pollfd wait{fd, POLLIN, 0};
    if (::poll(&wait, 1, PollTimeout(deadline)) <= 0)
      return Err(ErrorCode::kTimeout, "the server does not answer in time");
    char bytes[65536];
    const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
    if (n < 0) return ErrnoError("reading the server's answer", errno);
    if (n == 0) return answer;
    answer.append(bytes, static_cast<size_t>(n));
    if (answer.size() > kMaxAnswer) return Err(ErrorCode::kProtocol, "the answer is too large");
  }
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
                            Seconds timeout) {
  ASSAY_ASSIGN_OR_RETURN(const Address address, ParseUrl(url));
  if (key.find_first_of("\r\n") != std::string::npos)
    return Err(ErrorCode::kInvalid, "a key has no line ends");
  ASSAY_ASSIGN_OR_RETURN(const UniqueFd fd, Connect(address));
  // HTTP/1.0: the answer comes whole and ends with the connection.
  std::string request = fmt::format("GET {}{} HTTP/1.0\r\nHost: {}:{}\r\n", address.prefix, path,
                                    address.host, address.port);
  if (!key.empty()) request += fmt::format("Authorization: Bearer {}\r\n", key);
  request += "\r\n";
  std::string_view left = request;
  while (!left.empty()) {
    const ssize_t n = ::send(fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (n <= 0) return ErrnoError("sending to the server", errno);
    left.remove_prefix(static_cast<size_t>(n));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string answer, ReadToEnd(fd.get(), DeadlineIn(timeout)));
  const size_t end = answer.find("\r\n\r\n");
  int status = 0;
  if (end == std::string::npos || !answer.starts_with("HTTP/1.") || answer.size() < 12)
    return Err(ErrorCode::kProtocol, "{}:{} does not speak HTTP", address.host, address.port);
  std::from_chars(answer.data() + 9, answer.data() + 12, status);
  std::string body = answer.substr(end + 4);
  if (status != 200)
    return Err(ErrorCode::kInvalid, "{} answers {}: {}", path, status, Reason(body));
  return body;
}

}  // namespace assay
