#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace assay {

/// Owns a file descriptor and closes it.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }
  void Reset();

 private:
  int fd_ = -1;
};

/// A connected pair of stream sockets, close-on-exec on both ends.
Result<std::pair<UniqueFd, UniqueFd>> SocketPair();

/// The whole file, refused over `max_bytes`.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes = 64u << 20);

/// Replaces the file in one step (write beside it, fsync, rename).
Status WriteFileAtomically(const std::string& path, std::string_view content);

}  // namespace assay
