#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/message.h"

namespace assay::http {

/// Pieces of a streamed body on their way from any thread to the connection's loop. Thread-safe.
class PieceQueue {
 public:
  /// `wake` is called, from the writer's thread, when there is news for a reader that found none.
  PieceQueue(size_t max_bytes, std::function<void()> wake)
      : max_bytes_(max_bytes), wake_(std::move(wake)) {}

  enum class State { kOpen, kEnded, kAbandoned, kOverflowed };
  /// Takes everything that is queued; the state is that after these pieces.
  State Take(std::vector<std::string>* pieces);
  /// The client has gone: Write says so from now on.
  void Close();

  /// The writer's end. Dropping it without End() marks the body as abandoned: the client sees a
  /// broken message instead of one that looks complete.
  static std::shared_ptr<BodyStream> Writer(std::shared_ptr<PieceQueue> queue);

 private:
  class WriterEnd;
  bool Push(std::string piece);
  void Finish(State state);

  const size_t max_bytes_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<std::string> pieces_;
  size_t bytes_ = 0;
  State state_ = State::kOpen;
  bool closed_ = false;
  bool reader_waits_ = false;
};

}  // namespace assay::http
