#include "http/server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cstring>

#include "base/log.h"
#include "http/serve.h"

namespace assay::http {
namespace {

using Descriptor = asio::posix::basic_stream_descriptor<Executor>;

constexpr int kBacklog = 4096;
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nServer: assay\r\nRetry-After: 1\r\n"
    "Content-Type: text/plain\r\nContent-Length: 42\r\nConnection: close\r\n\r\n"
    "the server has all the connections it may\n";

void SetOption(int fd, int level, int option, int value) {
  // A refused option costs speed or a later detection, not correctness.
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0)
    LogDebug("setsockopt({}, {}): {}", level, option, std::strerror(errno));
}

/// Finds peers that have vanished without a word: data that their kernel does not acknowledge (a
/// WebSocket's pings are such data), or silence to the kernel's own probes.
void TuneTcp(int fd, Seconds unacknowledged) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unacknowledged.count() * 1000));
}

/// Text of an address, and the part of it that stands for one client.
std::pair<std::string, std::string> PeerName(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {fmt::format("{}:{}", text, ntohs(v4.sin_port)), text};
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    std::string name = fmt::format("[{}]:{}", text, ntohs(v6.sin6_port));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return {std::move(name), text};
    std::memset(v6.sin6_addr.s6_addr + 8, 0, 8);  // one client may use a whole /64 network
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return {std::move(name), text};
  }
  return {"unix", "unix"};
}

struct Bound {
  UniqueFd fd;
  int family = 0;
  uint16_t port = 0;
};

Result<Bound> BindUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Err(ErrorCode::kInvalid, "the path of a Unix socket may have {} bytes",
               sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  struct stat status {};
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoError("socket", errno);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    // A socket that nobody listens to is left over; EAGAIN comes from a server that is busy.
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(probe.get(), generic, sizeof address) == 0 || errno == EAGAIN)
      return Err(ErrorCode::kUnavailable, "'{}' is in use; stop the other server", path);
    ::unlink(path.c_str());
  }
  if (::bind(fd.get(), generic, sizeof address) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return ErrnoError(fmt::format("cannot listen on '{}'", path), errno);
  ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  return Bound{std::move(fd), AF_UNIX, 0};
}

Result<Bound> BindAddress(const addrinfo& info, const std::string& where) {
  UniqueFd fd(::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoError("socket", errno);
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (info.ai_family == AF_INET6) SetOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(fd.get(), info.ai_addr, info.ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE)
      return Err(ErrorCode::kUnavailable,
                 "{} is in use; stop the other server or choose another port (--port 0: any)",
                 where);
    if (errno == EACCES)
      return Err(ErrorCode::kInvalid, "{} needs privileges; choose a port above 1023", where);
    return ErrnoError(fmt::format("cannot listen on {}", where), errno);
  }
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return ErrnoError("getsockname", errno);
  in_port_t port = 0;  // at the same place in both families
  std::memcpy(&port, reinterpret_cast<const char*>(&address) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return Bound{std::move(fd), info.ai_family, ntohs(port)};
}

Result<Bound> BindTcp(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string bare =
      host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
  const int code = ::getaddrinfo(bare.c_str(), fmt::format("{}", port).c_str(), &hints, &found);
  if (code != 0)
    return Err(ErrorCode::kInvalid, "'{}' is no address to listen on: {}", host,
               ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  // Of a name with several addresses ("localhost") the IPv4 one, which every client tries.
  const addrinfo* chosen = found;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next)
    if (info->ai_family == AF_INET) {
      chosen = info;
      break;
    }
  return BindAddress(*chosen, fmt::format("{}:{}", host, port));
}

class ServerImpl final : public Server, public Timers {
 public:
  explicit ServerImpl(const ServerOptions& options)
      : shared_(std::make_shared<Shared>(options.limits, options.metrics)) {
    shared_->access_log = options.access_log;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const unsigned threads =
        options.threads > 0 ? static_cast<unsigned>(options.threads) : std::min(4u, cores);
    for (unsigned i = 0; i < threads; ++i)
      loops_.push_back(std::make_shared<Loop>(options.limits.tick));
    for (const auto& loop : loops_) loop->Start();
    if (options.metrics != nullptr) AddGauges(options.metrics);
  }
  ~ServerImpl() override { ServerImpl::Stop(); }
  ServerImpl(const ServerImpl&) = delete;
  ServerImpl& operator=(const ServerImpl&) = delete;

  Result<uint16_t> Listen(ListenOptions options) override;
  void BeginDrain() override;
  [[nodiscard]] bool Drained() const override { return shared_->connections.load() == 0; }
  void Stop() override;
  Status Reload() override;
  [[nodiscard]] Timers& timers() override { return *this; }
  [[nodiscard]] std::shared_ptr<void> After(Seconds delay, std::function<void()> action) override;
  [[nodiscard]] size_t connections() const override { return shared_->connections.load(); }
  [[nodiscard]] size_t websockets() const override { return shared_->websockets.load(); }

 private:
  struct Listener {
    Descriptor descriptor;
    int family = 0;
    std::shared_ptr<const Site> site;
    std::shared_ptr<TlsContext> tls;
    Timer pause;
    std::string unix_path;
  };

  void AddGauges(MetricRegistry* metrics);
  void Accept(const std::shared_ptr<Listener>& listener);
  bool AcceptOne(const std::shared_ptr<Listener>& listener);
  void CloseListeners();

  std::shared_ptr<Shared> shared_;
  std::vector<std::shared_ptr<Loop>> loops_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::shared_ptr<void> gauges_;
  std::atomic<size_t> next_loop_{0};
  bool stopped_ = false;
};

void ServerImpl::AddGauges(MetricRegistry* metrics) {
  gauges_ = metrics->AddCollector([shared = shared_] {
    return std::vector<MetricSample>{{"assay_http_connections",
                                      "Open connections, WebSockets included.",
                                      MetricType::kGauge,
                                      {},
                                      static_cast<double>(shared->connections.load())},
                                     {"assay_http_websockets",
                                      "Open WebSockets.",
                                      MetricType::kGauge,
                                      {},
                                      static_cast<double>(shared->websockets.load())},
                                     {"assay_http_inflight_bytes",
                                      "Large bodies and messages that are being received.",
                                      MetricType::kGauge,
                                      {},
                                      static_cast<double>(shared->inflight_bytes())}};
  });
}

Result<uint16_t> ServerImpl::Listen(ListenOptions options) {
  ASSAY_CHECK(options.router != nullptr && !stopped_);
  std::shared_ptr<TlsContext> tls;
  if (options.tls_certificate.empty() != options.tls_key.empty())
    return Err(ErrorCode::kInvalid, "TLS needs both --tls-cert and --tls-key");
  if (!options.tls_certificate.empty()) {
    ASSAY_ASSIGN_OR_RETURN(tls, TlsContext::Load(options.tls_certificate, options.tls_key));
  }
  ASSAY_ASSIGN_OR_RETURN(Bound bound, options.unix_path.empty()
                                          ? BindTcp(options.host, options.port)
                                          : BindUnix(options.unix_path));
  auto site = std::make_shared<Site>(Site{std::move(options.router), std::move(options.keys),
                                          options.token_query, std::move(options.origins),
                                          std::move(options.hosts), shared_});
  asio::io_context& context = loops_.front()->context();
  auto listener = std::make_shared<Listener>(
      Listener{Descriptor(context, bound.fd.Release()), bound.family, std::move(site),
               std::move(tls), Timer(context), std::move(options.unix_path)});
  listeners_.push_back(listener);
  asio::post(context, [this, listener] { Accept(listener); });
  return bound.port;
}

void ServerImpl::Accept(const std::shared_ptr<Listener>& listener) {
  listener->descriptor.async_wait(
      Descriptor::wait_read, [this, listener](const ErrorCodeOf& error) {
        if (error) return;  // closed
        while (AcceptOne(listener)) {
        }
        if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS) {
          Accept(listener);
          return;
        }
        // The connection stays in the queue; without a pause this would spin.
        LogWarn("cannot accept connections: {}; raise `ulimit -n`", std::strerror(errno));
        listener->pause.expires_after(std::chrono::milliseconds(100));
        listener->pause.async_wait([this, listener](const ErrorCodeOf& stopped) {
          if (!stopped) Accept(listener);
        });
      });
}

/// False when there is nothing to accept now; errno says why.
bool ServerImpl::AcceptOne(const std::shared_ptr<Listener>& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  UniqueFd fd(::accept4(listener->descriptor.native_handle(), reinterpret_cast<sockaddr*>(&address),
                        &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) return errno == ECONNABORTED || errno == EINTR || errno == EPROTO;
  auto [peer, group] = PeerName(address);
  std::optional<Place> place = Place::Take(shared_, group);
  if (!place) {
    shared_->CountDrop("full");
    if (listener->tls == nullptr) (void)::send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL);
    return true;
  }
  if (listener->family != AF_UNIX) TuneTcp(fd.get(), shared_->limits.unacknowledged);
  const std::shared_ptr<Loop>& loop = loops_[next_loop_.fetch_add(1) % loops_.size()];
  auto accepted = std::make_shared<Accepted>(Accepted{
      std::move(fd), listener->family, std::move(peer), std::move(group), *std::move(place)});
  asio::post(loop->context(), [loop = loop.get(), listener, accepted] {
    if (listener->tls != nullptr) {
      ServeTls(*loop, listener->site, std::move(*accepted), listener->tls.get());
    } else {
      ServePlain(*loop, listener->site, std::move(*accepted));
    }
  });
  return true;
}

void ServerImpl::CloseListeners() {
  for (const auto& listener : listeners_) {
    asio::post(loops_.front()->context(), [listener] {
      ErrorCodeOf ignored;
      listener->descriptor.close(ignored);
      listener->pause.cancel();
      if (!listener->unix_path.empty()) ::unlink(listener->unix_path.c_str());
    });
  }
}

void ServerImpl::BeginDrain() {
  if (shared_->draining.exchange(true)) return;
  CloseListeners();
  for (const auto& loop : loops_) loop->DrainAll();
}

void ServerImpl::Stop() {
  if (std::exchange(stopped_, true)) return;
  shared_->draining.store(true);
  CloseListeners();
  for (const auto& loop : loops_) loop->Stop();
}

Status ServerImpl::Reload() {
  Status first;
  std::vector<const KeyRing*> done;
  for (const auto& listener : listeners_) {
    KeyRing* keys = listener->site->keys.get();
    if (keys != nullptr && std::find(done.begin(), done.end(), keys) == done.end()) {
      done.push_back(keys);
      if (Status status = keys->Reload(); !status.ok() && first.ok()) first = status;
    }
    if (listener->tls != nullptr)
      if (Status status = listener->tls->Reload(); !status.ok() && first.ok()) first = status;
  }
  return first;
}

std::shared_ptr<void> ServerImpl::After(Seconds delay, std::function<void()> action) {
  return loops_[next_loop_.fetch_add(1) % loops_.size()]->After(delay, std::move(action));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  // Every connection is a descriptor; the soft limit of a shell is often 1024.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
  constexpr size_t kOtherFiles = 256;
  if (files.rlim_cur != RLIM_INFINITY && files.rlim_cur > 2 * kOtherFiles)
    options.limits.connections =
        std::min(options.limits.connections, static_cast<size_t>(files.rlim_cur) - kOtherFiles);
  return std::unique_ptr<Server>(std::make_unique<ServerImpl>(options));
}

}  // namespace assay::http
