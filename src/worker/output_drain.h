#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"

namespace assay {

/// What a process wrote to one stream: its first and last bytes, and how many were dropped between.
class CapturedOutput {
 public:
  explicit CapturedOutput(size_t max_bytes) : max_half_(max_bytes / 2) {}

  void Append(std::string_view bytes);
  [[nodiscard]] std::string Text() const;
  /// No more will come.
  void End();
  /// Waits until then; false at the deadline, for a process may leave others that could write.
  bool AwaitEnd(TimePoint deadline) const;

 private:
  const size_t max_half_;
  mutable std::mutex mutex_;
  std::string head_;
  std::string tail_;
  uint64_t dropped_ = 0;
  bool ended_ = false;
  mutable std::condition_variable changed_;
};

/// Reads the standard streams of all candidates in one thread, so that none blocks on a full pipe
/// and none can fill memory. Output is kept, never parsed.
class OutputDrain {
 public:
  static Result<std::unique_ptr<OutputDrain>> Start();
  ~OutputDrain();
  OutputDrain(const OutputDrain&) = delete;
  OutputDrain& operator=(const OutputDrain&) = delete;

  /// The write end to give to a process, and where its bytes will be. Reading ends by itself when
  /// the last writer is gone.
  struct Stream {
    UniqueFd write_end;
    std::shared_ptr<CapturedOutput> output;
  };
  Result<Stream> Open(size_t max_bytes);

 private:
  OutputDrain() = default;
  void Run();

  UniqueFd epoll_;
  UniqueFd stop_;
  std::mutex mutex_;
  std::map<int, std::pair<UniqueFd, std::shared_ptr<CapturedOutput>>> streams_;
  std::thread thread_;
};

}  // namespace assay
