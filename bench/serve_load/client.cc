// A load client for WebSocket environments (OpenEnv's messages) and HTTP status polls: one thread,
// epoll, no library, so that little of a shared core goes to the client.
//
//   client idle  PORT N SECONDS              opens N sessions, resets each, holds them
//   client reset PORT N SECONDS              N sessions that reset again and again
//   client step  PORT N SECONDS              N sessions that play episodes of four steps
//   client poll  PORT N SECONDS PATH         N connections that GET PATH again and again
//   client MODE  PORT N SECONDS PATH PAUSE   each waits PAUSE ms between an answer and the next
//   request
//
// Steps are counted without the resets between them.
// Prints one JSON object: sessions, requests, seconds, errors, and latencies in milliseconds.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kReset = R"({"type":"reset","data":{"task_id":"assay/relu"}})";
constexpr int kTurns = 4;  // of an episode: what trainers and the server's default have
constexpr const char* kStep =
    R"({"type":"step","data":{"code":"class ModelNew:\n    def forward(self, x):\n        return x\n"}})";

enum class Mode { kIdle, kReset, kStep, kPoll };
enum class State { kConnecting, kUpgrading, kFirstReset, kReady, kWaiting, kDead };

struct Connection {
  int fd = -1;
  State state = State::kConnecting;
  std::string in;
  std::string out;
  Clock::time_point sent;
  bool resetting = false;
  int number = 0;  // of the step: each submission is another one
  Clock::time_point due;
};

struct Load {
  Mode mode = Mode::kIdle;
  int port = 0;
  size_t count = 0;
  double seconds = 0;
  std::string path;
  std::chrono::microseconds pause{0};
  std::deque<Connection*> pausing;  // in the order in which they are due
  int epoll = -1;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<float> latencies_ms;
  size_t ready = 0;
  size_t opening = 0;
  size_t opened = 0;
  size_t errors = 0;
  bool measuring = false;
  std::string first_error;
};

void Fail(Load* load, Connection* c, const std::string& why) {
  if (c->state == State::kDead) return;
  if (c->state == State::kConnecting || c->state == State::kUpgrading ||
      c->state == State::kFirstReset)
    --load->opening;
  c->state = State::kDead;
  close(c->fd);
  ++load->errors;
  if (load->first_error.empty()) load->first_error = why;
}

void Flush(Load* load, Connection* c) {
  while (!c->out.empty()) {
    const ssize_t n = send(c->fd, c->out.data(), c->out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;  // epoll is edge-triggered for both directions
    if (n <= 0) {
      Fail(load, c, std::string("send: ") + strerror(errno));
      return;
    }
    c->out.erase(0, static_cast<size_t>(n));
  }
}

void AppendFrame(std::string* out, int opcode, const std::string& payload) {
  *out += static_cast<char>(0x80 | opcode);
  if (payload.size() < 126) {
    *out += static_cast<char>(0x80 | payload.size());
  } else {
    *out += static_cast<char>(0x80 | 126);
    *out += static_cast<char>(payload.size() >> 8);
    *out += static_cast<char>(payload.size() & 0xFF);
  }
  out->append(4, '\0');  // a mask of zeros is a mask
  *out += payload;
}

void SendNext(Load* load, Connection* c) {
  c->state = State::kWaiting;
  c->sent = Clock::now();
  if (load->mode == Mode::kPoll) {
    c->out += "GET " + load->path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  } else if (load->mode == Mode::kReset || c->resetting) {
    AppendFrame(&c->out, 1, kReset);
  } else {
    std::string step = kStep;
    step.insert(step.size() - 3, "# " + std::to_string(c->number++) + " " + std::to_string(c->fd));
    AppendFrame(&c->out, 1, step);
  }
  Flush(load, c);
}

void Ready(Load* load, Connection* c) {
  c->state = State::kReady;
  --load->opening;
  ++load->ready;
}

void OnAnswer(Load* load, Connection* c, const std::string& text) {
  if (c->state == State::kFirstReset) {
    if (text.find("\"observation\"") == std::string::npos)
      Fail(load, c, text.substr(0, 200));
    else
      Ready(load, c);
    return;
  }
  if (c->state != State::kWaiting) {
    Fail(load, c, "an answer that nobody asked for: " + text.substr(0, 200));
    return;
  }
  if (load->mode != Mode::kPoll && text.find("\"type\":\"error\"") != std::string::npos) {
    Fail(load, c, text.substr(0, 300));
    return;
  }
  const bool counts = load->mode != Mode::kStep || !c->resetting;
  if (load->measuring && counts)
    load->latencies_ms.push_back(
        std::chrono::duration<float, std::milli>(Clock::now() - c->sent).count());
  c->resetting = load->mode == Mode::kStep && !c->resetting && c->number % kTurns == 0;
  c->state = State::kReady;
  if (!load->measuring) return;
  if (load->pause.count() == 0) return SendNext(load, c);
  c->due = Clock::now() + load->pause;
  load->pausing.push_back(c);
}

// Sends what is due; milliseconds until the next is.
int SendDue(Load* load) {
  while (!load->pausing.empty()) {
    Connection* c = load->pausing.front();
    const auto left = c->due - Clock::now();
    if (left > Clock::duration::zero())
      return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
    load->pausing.pop_front();
    if (c->state == State::kReady) SendNext(load, c);
  }
  return 50;
}

// Takes whole HTTP answers or frames out of the buffer.
void Consume(Load* load, Connection* c) {
  while (c->state != State::kDead) {
    if (c->state == State::kUpgrading || load->mode == Mode::kPoll) {
      const size_t end = c->in.find("\r\n\r\n");
      if (end == std::string::npos) return;
      size_t size = end + 4;
      if (load->mode == Mode::kPoll) {
        const size_t at = c->in.find("Content-Length: ");
        if (at != std::string::npos && at < end)
          size += strtoul(c->in.c_str() + at + 16, nullptr, 10);
        if (c->in.size() < size) return;
        if (c->in.compare(9, 3, "200") != 0) {
          Fail(load, c, c->in.substr(0, 300));
          return;
        }
        c->in.erase(0, size);
        OnAnswer(load, c, "");
        continue;
      }
      if (c->in.compare(9, 3, "101") != 0) {
        Fail(load, c, c->in.substr(0, 300));
        return;
      }
      c->in.erase(0, size);
      c->state = State::kFirstReset;
      AppendFrame(&c->out, 1, kReset);
      Flush(load, c);
      continue;
    }
    if (c->in.size() < 2) return;
    size_t header = 2;
    uint64_t size = static_cast<uint8_t>(c->in[1]) & 0x7F;
    if (size >= 126) {
      header = size == 126 ? 4 : 10;
      if (c->in.size() < header) return;
      size = 0;
      for (size_t i = 2; i < header; ++i) size = size << 8 | static_cast<uint8_t>(c->in[i]);
    }
    if (c->in.size() < header + size) return;
    const int opcode = c->in[0] & 0x0F;
    const std::string payload = c->in.substr(header, size);
    c->in.erase(0, header + size);
    if (opcode == 9) {
      AppendFrame(&c->out, 10, payload);
      Flush(load, c);
    } else if (opcode == 8) {
      Fail(load, c, "closed by the server: " + payload.substr(std::min<size_t>(2, payload.size())));
    } else if (opcode == 1) {
      OnAnswer(load, c, payload);
    }
  }
}

void OnEvent(Load* load, Connection* c, uint32_t events) {
  if (c->state == State::kDead) return;
  if (c->state == State::kConnecting) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
      Fail(load, c, std::string("connect: ") + strerror(error));
      return;
    }
    if ((events & EPOLLOUT) == 0) return;
    if (load->mode == Mode::kPoll) {
      Ready(load, c);
      return;
    }
    c->state = State::kUpgrading;
    c->out =
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  }
  Flush(load, c);
  char bytes[65536];
  while (c->state != State::kDead) {
    const ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
      c->in.append(bytes, static_cast<size_t>(n));
      // A short read has emptied the socket: what comes later is another event.
      if (static_cast<size_t>(n) < sizeof bytes) break;
      continue;
    }
    if (n == 0) Fail(load, c, "closed by the server");
    if (n < 0 && errno != EAGAIN) Fail(load, c, std::string("recv: ") + strerror(errno));
    break;
  }
  Consume(load, c);
}

void Open(Load* load) {
  auto c = std::make_unique<Connection>();
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(load->port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(c->fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.ptr = c.get();
  epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->fd, &event);
  ++load->opening;
  ++load->opened;
  load->connections.push_back(std::move(c));
}

void Poll(Load* load, int timeout_ms) {
  epoll_event events[512];
  const int n = epoll_wait(load->epoll, events, 512, timeout_ms);
  for (int i = 0; i < n; ++i)
    OnEvent(load, static_cast<Connection*>(events[i].data.ptr), events[i].events);
}

double Percentile(const std::vector<float>& sorted, double p) {
  if (sorted.empty()) return 0;
  const double at = std::ceil(p * static_cast<double>(sorted.size())) - 1;
  return sorted[static_cast<size_t>(std::max(0.0, at))];
}

/// That this process has used so far.
double CpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: client idle|reset|step|poll PORT N SECONDS [PATH [PAUSE_MS]]\n");
    return 2;
  }
  Load load;
  const std::string mode = argv[1];
  load.mode = mode == "idle"    ? Mode::kIdle
              : mode == "reset" ? Mode::kReset
              : mode == "step"  ? Mode::kStep
                                : Mode::kPoll;
  load.port = std::atoi(argv[2]);
  load.count = std::strtoul(argv[3], nullptr, 10);
  load.seconds = std::strtod(argv[4], nullptr);
  if (argc > 5) load.path = argv[5];
  if (argc > 6) load.pause = std::chrono::microseconds(std::lround(std::atof(argv[6]) * 1000));
  load.epoll = epoll_create1(EPOLL_CLOEXEC);

  const auto opening_started = Clock::now();
  while (load.ready + load.errors < load.count) {
    while (load.opened < load.count && load.opening < 128) Open(&load);
    Poll(&load, 100);
    if (Clock::now() - opening_started > std::chrono::seconds(300)) break;
  }
  const double open_s = std::chrono::duration<double>(Clock::now() - opening_started).count();
  // The caller looks at the server's memory and CPU time now.
  std::printf("{\"open\": %zu, \"open_s\": %.3f, \"errors\": %zu}\n", load.ready, open_s,
              load.errors);
  std::fflush(stdout);
  if (std::getchar() == EOF) return 1;

  load.measuring = load.mode != Mode::kIdle;
  const double cpu_before = CpuSeconds();
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(load.seconds);
  if (load.measuring) {
    // With a pause they begin one after another, not all in the same moment.
    size_t number = 0;
    for (const auto& c : load.connections) {
      c->due = start + load.pause * number++ / load.connections.size();
      if (c->state == State::kReady) load.pausing.push_back(c.get());
    }
  }
  while (Clock::now() < end) Poll(&load, std::min(50, SendDue(&load)));
  load.measuring = false;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double cpu_s = CpuSeconds() - cpu_before;
  std::sort(load.latencies_ms.begin(), load.latencies_ms.end());
  size_t alive = 0;
  for (const auto& c : load.connections) alive += c->state != State::kDead ? 1 : 0;
  std::string quoted;
  for (const char byte : load.first_error)
    quoted += byte == '"' || byte == '\\' || byte < ' ' ? '\'' : byte;
  std::printf(
      "{\"sessions\": %zu, \"alive\": %zu, \"requests\": %zu, \"seconds\": %.3f, \"cpu_s\": %.4f, "
      "\"errors\": %zu, "
      "\"first_error\": \"%s\", \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}\n",
      load.count, alive, load.latencies_ms.size(), seconds, cpu_s, load.errors, quoted.c_str(),
      Percentile(load.latencies_ms, 0.5), Percentile(load.latencies_ms, 0.99),
      load.latencies_ms.empty() ? 0.0 : static_cast<double>(load.latencies_ms.back()));
  return 0;
}
