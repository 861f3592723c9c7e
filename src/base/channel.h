#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"

namespace assay {

/// One framed message: a JSON object and the file descriptors that travel with it.
struct Message {
  json::object body;
  std::vector<UniqueFd> fds;
};

/// Framed JSON over a Unix stream socket: 4 bytes of little-endian length, then the text;
/// descriptors ride on the first byte of their frame (SCM_RIGHTS).
///
/// The peer may be hostile: lengths, JSON and the number of descriptors are bounded, and every
/// receive has a deadline. Not thread-safe; one owner at a time.
class Channel {
 public:
  static constexpr size_t kMaxFrame = 4u << 20;
  static constexpr size_t kMaxFds = 64;

  Channel() = default;
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool valid() const { return socket_.valid(); }

  /// kClosed when the peer is gone; kTimeout when it does not read.
  Status Send(const json::object& body, std::span<const int> fds, TimePoint deadline);

  /// kTimeout, kClosed (end of stream), or kProtocol for a frame that breaks the rules.
  Result<Message> Receive(TimePoint deadline);

 private:
  Status ReadExactly(char* data, size_t size, TimePoint deadline, std::vector<UniqueFd>* fds);

  UniqueFd socket_;
};

}  // namespace assay
