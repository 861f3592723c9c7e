#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "http/server.h"

namespace assay::http {

/// A client made of a bare socket, so that tests can send what no library would.
class RawClient {
 public:
  /// Connects to 127.0.0.1. `receive_buffer`: bytes, 0 for the system's default.
  explicit RawClient(uint16_t port, int receive_buffer = 0);

  bool Send(std::string_view bytes);
  /// Reads until `done` says so, the peer closes, or `timeout` passes; what has come so far stays
  /// in buffer().
  bool ReadUntil(const std::function<bool(const std::string&)>& done,
                 Seconds timeout = Seconds(10));
  /// One response with a Content-Length (or none, for `head_only`), taken out of the buffer.
  std::string ReadResponse(bool head_only = false);
  /// Everything until the peer closes; "timeout" is appended if it does not.
  std::string ReadAll(Seconds timeout = Seconds(10));
  void ShutdownWrite();

  /// Upgrades; the text of the response's head.
  std::string Upgrade(const std::string& target, const std::string& more_fields = "");
  /// Sends a masked frame.
  bool SendFrame(int opcode, std::string_view payload, bool fin = true);

  struct Frame {
    int opcode = -1;  ///< -1: none came
    std::string payload;
    /// Of a close frame.
    [[nodiscard]] int close_code() const;
  };
  Frame ReadFrame(Seconds timeout = Seconds(10));

  [[nodiscard]] std::string& buffer() { return buffer_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::string buffer_;
  bool closed_ = false;
};

/// A server with one listener.
struct TestServer {
  explicit TestServer(Router router, const Limits& limits = {}, ListenOptions listen = {},
                      MetricRegistry* metrics = nullptr);
  std::unique_ptr<Server> server;
  uint16_t port = 0;
};

/// The keys of a file with this text.
std::shared_ptr<KeyRing> Keys(const std::string& text);

/// Waits until `done`, for ten seconds at most.
bool Eventually(const std::function<bool()>& done);

std::string Get(const std::string& target, const std::string& more_fields = "");
std::string Post(const std::string& target, const std::string& body,
                 const std::string& more_fields = "");
int StatusOf(const std::string& response);
std::string BodyOf(const std::string& response);

}  // namespace assay::http
