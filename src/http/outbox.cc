#include "http/outbox.h"

#include <utility>

namespace assay::http {

void Outbox::Send(std::string text) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (shut_ || closing_ || overflowed_) return;
    if (bytes_ + text.size() > max_bytes_) {
      overflowed_ = true;
      messages_.clear();
    } else {
      bytes_ += text.size();
      messages_.push_back(std::move(text));
    }
    wake = std::exchange(idle_, false) || overflowed_;
  }
  if (wake) wake_();
}

void Outbox::Close(int code, std::string reason) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (shut_ || closing_) return;
    closing_ = Closing{code, std::move(reason)};
    wake = std::exchange(idle_, false);
  }
  if (wake) wake_();
}

std::optional<std::string> Outbox::Next() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty()) {
    idle_ = !closing_;
    return std::nullopt;
  }
  std::string message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= message.size();
  return message;
}

std::optional<Outbox::Closing> Outbox::NextClose() {
  const std::lock_guard lock(mutex_);
  return messages_.empty() ? closing_ : std::nullopt;
}

size_t Outbox::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

bool Outbox::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

void Outbox::Shut() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
  messages_.clear();
  bytes_ = 0;
}

}  // namespace assay::http
