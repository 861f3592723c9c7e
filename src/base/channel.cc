#include "base/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace assay {
namespace {

Status WaitFor(int fd, short events, TimePoint deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, PollTimeout(deadline));
    if (ready > 0) return {};
    if (ready == 0 && Clock::now() >= deadline)
      return Err(ErrorCode::kTimeout, "no answer in time");
    if (ready < 0 && errno != EINTR) return ErrnoError("poll", errno);
  }
}

}  // namespace

Status Channel::Send(const json::object& body, std::span<const int> fds, TimePoint deadline) {
  ASSAY_CHECK(fds.size() <= kMaxFds);
  const std::string text = json::serialize(body);
  if (text.size() > kMaxFrame)
    return Err(ErrorCode::kInvalid, "message of {} bytes is over the limit of {}", text.size(),
               kMaxFrame);
  std::string frame(4, '\0');
  for (size_t i = 0; i < 4; ++i) frame[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFFu);
  frame += text;

  size_t sent = 0;
  while (sent < frame.size()) {
    iovec part{frame.data() + sent, frame.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
    if (sent == 0 && !fds.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* message = CMSG_FIRSTHDR(&header);
      message->cmsg_level = SOL_SOCKET;
      message->cmsg_type = SCM_RIGHTS;
      message->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(message), fds.data(), fds.size_bytes());
    }
    const ssize_t n = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      ASSAY_RETURN_IF_ERROR(WaitFor(socket_.get(), POLLOUT, deadline));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return Err(ErrorCode::kClosed, "the peer closed its channel");
    } else if (errno != EINTR) {
      return ErrnoError("sendmsg", errno);
    }
  }
  return {};
}

Status Channel::ReadExactly(char* data, size_t size, TimePoint deadline,
                            std::vector<UniqueFd>* fds) {
  while (size > 0) {
    iovec part{data, size};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
      ASSAY_RETURN_IF_ERROR(WaitFor(socket_.get(), POLLIN, deadline));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != ECONNRESET) return ErrnoError("recvmsg", errno);
    if (n <= 0) return Err(ErrorCode::kClosed, "the peer closed its channel");
    for (cmsghdr* message = CMSG_FIRSTHDR(&header); message != nullptr;
         message = CMSG_NXTHDR(&header, message)) {
      if (message->cmsg_level != SOL_SOCKET || message->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (message->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(message) + i * sizeof(int), sizeof(int));
        fds->emplace_back(fd);
      }
    }
    if ((header.msg_flags & MSG_CTRUNC) != 0 || fds->size() > kMaxFds)
      return Err(ErrorCode::kProtocol, "too many descriptors in one message");
    data += n;
    size -= static_cast<size_t>(n);
  }
  return {};
}

Result<Message> Channel::Receive(TimePoint deadline) {
  Message message;
  unsigned char prefix[4];
  ASSAY_RETURN_IF_ERROR(ReadExactly(reinterpret_cast<char*>(prefix), 4, deadline, &message.fds));
  size_t size = 0;
  for (size_t i = 0; i < 4; ++i) size |= static_cast<size_t>(prefix[i]) << (8 * i);
  if (size > kMaxFrame)
    return Err(ErrorCode::kProtocol, "frame of {} bytes is over the limit of {}", size, kMaxFrame);
  std::string text(size, '\0');
  ASSAY_RETURN_IF_ERROR(ReadExactly(text.data(), size, deadline, &message.fds));
  Result<json::object> body = ParseJsonObject(text, kMaxFrame);
  if (!body.ok()) return Err(ErrorCode::kProtocol, "{}", body.error().message);
  message.body = *std::move(body);
  return message;
}

}  // namespace assay
