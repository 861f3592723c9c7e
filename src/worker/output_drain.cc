#include "worker/output_drain.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace assay {

void CapturedOutput::Append(std::string_view bytes) {
  const std::lock_guard guard(mutex_);
  const size_t room = max_half_ - std::min(max_half_, head_.size());
  head_.append(bytes.substr(0, room));
  bytes.remove_prefix(std::min(room, bytes.size()));
  if (bytes.size() > max_half_) {
    dropped_ += bytes.size() - max_half_;
    bytes.remove_prefix(bytes.size() - max_half_);
  }
  tail_.append(bytes);
  if (tail_.size() > max_half_) {
    dropped_ += tail_.size() - max_half_;
    tail_.erase(0, tail_.size() - max_half_);
  }
}

std::string CapturedOutput::Text() const {
  const std::lock_guard guard(mutex_);
  if (dropped_ == 0) return head_ + tail_;
  return head_ + fmt::format("\n[... {} bytes left out ...]\n", dropped_) + tail_;
}

void CapturedOutput::End() {
  const std::lock_guard guard(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool CapturedOutput::AwaitEnd(TimePoint deadline) const {
  std::unique_lock guard(mutex_);
  return changed_.wait_until(guard, deadline, [&] { return ended_; });
}

Result<std::unique_ptr<OutputDrain>> OutputDrain::Start() {
  std::unique_ptr<OutputDrain> drain(new OutputDrain);
  drain->epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  drain->stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!drain->epoll_.valid() || !drain->stop_.valid()) return ErrnoError("epoll", errno);
  epoll_event event{EPOLLIN, {.fd = drain->stop_.get()}};
  if (::epoll_ctl(drain->epoll_.get(), EPOLL_CTL_ADD, drain->stop_.get(), &event) != 0)
    return ErrnoError("epoll_ctl", errno);
  drain->thread_ = std::thread([raw = drain.get()] { raw->Run(); });
  return drain;
}

OutputDrain::~OutputDrain() {
  const uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

Result<OutputDrain::Stream> OutputDrain::Open(size_t max_bytes) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("pipe", errno);
  UniqueFd read_end(fds[0]);
  Stream stream{UniqueFd(fds[1]), std::make_shared<CapturedOutput>(max_bytes)};
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const int fd = read_end.get();
  const std::lock_guard guard(mutex_);
  streams_[fd] = {std::move(read_end), stream.output};
  epoll_event event{EPOLLIN, {.fd = fd}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    streams_.erase(fd);
    return ErrnoError("epoll_ctl", errno);
  }
  return stream;
}

void OutputDrain::Run() {
  std::string buffer(256 << 10, '\0');
  for (;;) {
    epoll_event events[16];
    const int count = ::epoll_wait(epoll_.get(), events, 16, -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == stop_.get()) return;
      const ssize_t n = ::read(fd, buffer.data(), buffer.size());
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      const std::lock_guard guard(mutex_);
      const auto found = streams_.find(fd);
      if (found == streams_.end()) continue;
      if (n > 0) {
        found->second.second->Append(std::string_view(buffer.data(), static_cast<size_t>(n)));
      } else {
        found->second.second->End();
        streams_.erase(found);  // closes the descriptor, which leaves the epoll set with it
      }
    }
  }
}

}  // namespace assay
