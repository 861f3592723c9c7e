#include "http/body_stream.h"

namespace assay::http {

class PieceQueue::WriterEnd : public BodyStream {
 public:
  explicit WriterEnd(std::shared_ptr<PieceQueue> queue) : queue_(std::move(queue)) {}
  ~WriterEnd() override { queue_->Finish(State::kAbandoned); }
  WriterEnd(const WriterEnd&) = delete;
  WriterEnd& operator=(const WriterEnd&) = delete;
  bool Write(std::string piece) override { return queue_->Push(std::move(piece)); }
  void End() override { queue_->Finish(State::kEnded); }

 private:
  std::shared_ptr<PieceQueue> queue_;
};

std::shared_ptr<BodyStream> PieceQueue::Writer(std::shared_ptr<PieceQueue> queue) {
  return std::make_shared<WriterEnd>(std::move(queue));
}

PieceQueue::State PieceQueue::Take(std::vector<std::string>* pieces) {
  const std::lock_guard lock(mutex_);
  pieces->clear();
  pieces->swap(pieces_);
  bytes_ = 0;
  reader_waits_ = pieces->empty() && state_ == State::kOpen;
  return state_;
}

void PieceQueue::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pieces_.clear();
}

bool PieceQueue::Push(std::string piece) {
  bool wake = false;
  bool accepted = true;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || state_ != State::kOpen) return false;
    if (piece.empty()) return true;
    if (bytes_ + piece.size() > max_bytes_) {
      state_ = State::kOverflowed;
      accepted = false;
    } else {
      bytes_ += piece.size();
      pieces_.push_back(std::move(piece));
    }
    wake = std::exchange(reader_waits_, false);
  }
  if (wake) wake_();
  return accepted;
}

void PieceQueue::Finish(State state) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kOpen) return;
    state_ = state;
    wake = std::exchange(reader_waits_, false);
  }
  if (wake) wake_();
}

}  // namespace assay::http
