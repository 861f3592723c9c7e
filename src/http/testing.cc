#include "http/testing.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <thread>

#include "base/strings.h"

namespace assay::http {

RawClient::RawClient(uint16_t port, int receive_buffer)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0)
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  ASSAY_CHECK(::connect(fd_.get(), generic, sizeof address) == 0);
}

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool RawClient::ReadUntil(const std::function<bool(const std::string&)>& done, Seconds timeout) {
  const TimePoint deadline = DeadlineIn(timeout);
  while (!done(buffer_)) {
    if (closed_) return false;
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    if (::poll(&poll_fd, 1, PollTimeout(deadline)) <= 0) return false;
    char bytes[65536];
    const ssize_t n = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (n <= 0) {
      closed_ = true;
    } else {
      buffer_.append(bytes, static_cast<size_t>(n));
    }
  }
  return true;
}

std::string RawClient::ReadResponse(bool head_only) {
  size_t size = std::string::npos;
  ReadUntil([&](const std::string& text) {
    const size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    size = end + 4;
    const std::string head = ToLower(text.substr(0, size));
    const size_t at = head.find("content-length: ");
    size_t length = 0;
    if (!head_only && at != std::string::npos)
      std::from_chars(head.data() + at + 16, head.data() + head.size(), length);
    size += length;
    return text.size() >= size;
  });
  std::string response = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return response;
}

std::string RawClient::ReadAll(Seconds timeout) {
  ReadUntil([](const std::string&) { return false; }, timeout);
  return std::exchange(buffer_, "") + (closed_ ? "" : "timeout");
}

void RawClient::ShutdownWrite() { ::shutdown(fd_.get(), SHUT_WR); }

std::string RawClient::Upgrade(const std::string& target, const std::string& more_fields) {
  Send("GET " + target +
       " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
       more_fields + "\r\n");
  return ReadResponse();
}

bool RawClient::SendFrame(int opcode, std::string_view payload, bool fin) {
  std::string frame;
  frame += static_cast<char>((fin ? 0x80 : 0) | opcode);
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else if (payload.size() < 65536) {
    frame += static_cast<char>(0x80 | 126);
    for (int shift = 8; shift >= 0; shift -= 8) frame += static_cast<char>(payload.size() >> shift);
  } else {
    frame += static_cast<char>(0x80 | 127);
    for (int shift = 56; shift >= 0; shift -= 8)
      frame += static_cast<char>(payload.size() >> shift);
  }
  const char mask[4] = {0x11, 0x22, 0x33, 0x44};
  frame.append(mask, 4);
  for (size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ mask[i % 4]);
  return Send(frame);
}

int RawClient::Frame::close_code() const {
  if (opcode != 8 || payload.size() < 2) return -1;
  return static_cast<uint8_t>(payload[0]) * 256 + static_cast<uint8_t>(payload[1]);
}

RawClient::Frame RawClient::ReadFrame(Seconds timeout) {
  size_t header = 2;
  uint64_t size = 0;
  const bool whole = ReadUntil(
      [&](const std::string& text) {
        if (text.size() < 2) return false;
        size = static_cast<uint8_t>(text[1]) & 0x7F;
        header = size == 126 ? 4 : size == 127 ? 10 : 2;
        if (text.size() < header) return false;
        if (header > 2) {
          size = 0;
          for (size_t i = 2; i < header; ++i) size = size << 8 | static_cast<uint8_t>(text[i]);
        }
        return text.size() >= header + size;
      },
      timeout);
  if (!whole) return {};
  Frame frame{buffer_[0] & 0x0F, buffer_.substr(header, size)};
  buffer_.erase(0, header + size);
  return frame;
}

TestServer::TestServer(Router router, const Limits& limits, ListenOptions listen,
                       MetricRegistry* metrics) {
  ServerOptions options;
  options.limits = limits;
  options.threads = 2;
  options.metrics = metrics;
  Result<std::unique_ptr<Server>> started = Server::Start(options);
  ASSAY_CHECK(started.ok());
  server = *std::move(started);
  listen.port = 0;
  listen.router = std::make_shared<Router>(std::move(router));
  const Result<uint16_t> bound = server->Listen(std::move(listen));
  ASSAY_CHECK(bound.ok());
  port = *bound;
}

std::shared_ptr<KeyRing> Keys(const std::string& text) {
  return std::make_shared<KeyRing>(*ParseKeys(text));
}

bool Eventually(const std::function<bool()>& done) {
  const TimePoint deadline = DeadlineIn(Seconds(10));
  while (!done()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::string Get(const std::string& target, const std::string& more_fields) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more_fields + "\r\n";
}

std::string Post(const std::string& target, const std::string& body,
                 const std::string& more_fields) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}",
                     target, body.size(), more_fields, body);
}

int StatusOf(const std::string& response) {
  int status = -1;
  if (response.starts_with("HTTP/1.1 "))
    std::from_chars(response.data() + 9, response.data() + response.size(), status);
  return status;
}

std::string BodyOf(const std::string& response) {
  const size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

}  // namespace assay::http
