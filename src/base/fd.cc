#include "base/fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace assay {

Error ErrnoError(std::string_view what, int error_number) {
  return Err(ErrorCode::kIo, "{}: {}", what, std::generic_category().message(error_number));
}

void UniqueFd::Reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::pair<UniqueFd, UniqueFd>> SocketPair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return ErrnoError("socketpair", errno);
  return std::pair(UniqueFd(fds[0]), UniqueFd(fds[1]));
}

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    const int error_number = errno;
    Error error = ErrnoError("cannot read '" + path + "'", error_number);
    if (error_number == ENOENT) error.code = ErrorCode::kNotFound;
    return error;
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode))
    return Err(ErrorCode::kInvalid, "cannot read '{}': it is a folder", path);
  std::string content;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError("cannot read '" + path + "'", errno);
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
    if (content.size() > max_bytes)
      return Err(ErrorCode::kInvalid, "'{}' is larger than {} bytes", path, max_bytes);
  }
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoError("cannot write '" + path + "'", errno);
  auto fail = [&](int error_number) -> Status {
    ::unlink(temporary.c_str());
    return ErrnoError("cannot write '" + path + "'", error_number);
  };
  while (!content.empty()) {
    const ssize_t n = ::write(fd.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno);
    content.remove_prefix(static_cast<size_t>(n));
  }
  if (::fchmod(fd.get(), 0644) != 0 || ::fsync(fd.get()) != 0) return fail(errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail(errno);
  return {};
}

}  // namespace assay
