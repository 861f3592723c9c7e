#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <map>

#include "base/fd.h"
#include "base/json.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/http_get.h"

namespace assay {
namespace {

constexpr Seconds kTimeout{10};

struct Options {
  std::string url = "http://127.0.0.1:8000";
  std::string key_file;
  http::TlsTrust trust;
  double interval_s = 2;
  bool once = false;
  bool as_json = false;
};

/// What one frame shows; `error` instead when the server does not answer.
struct Frame {
  json::object queue;
  json::array workers;
  json::array recent;
  json::array gpus;
  double sessions = 0;
  double connections = 0;
};

/// "name{label="value",...} 12" of Prometheus' text.
struct MetricLine {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

std::vector<MetricLine> ParseMetrics(std::string_view text) {
  std::vector<MetricLine> lines;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t space = line.rfind(' ');
    if (line.empty() || line.starts_with('#') || space == std::string_view::npos) continue;
    MetricLine metric;
    const std::string_view series = line.substr(0, space);
    const size_t brace = series.find('{');
    metric.name = series.substr(0, brace);
    metric.value = std::strtod(std::string(line.substr(space + 1)).c_str(), nullptr);
    std::string_view rest =
        brace == std::string_view::npos ? std::string_view{} : series.substr(brace + 1);
    for (size_t quote = rest.find("=\""); quote != std::string_view::npos;
         quote = rest.find("=\"")) {
      const size_t end = rest.find('"', quote + 2);
      if (end == std::string_view::npos) break;
      metric.labels[std::string(rest.substr(0, quote))] = rest.substr(quote + 2, end - quote - 2);
      rest.remove_prefix(std::min(rest.size(), end + 2));
    }
    lines.push_back(std::move(metric));
  }
  return lines;
}

void ReadMetrics(const std::vector<MetricLine>& metrics, Frame* frame) {
  std::map<std::pair<std::string, std::string>, json::object> gpus;  // by runner, if elsewhere
  for (const MetricLine& metric : metrics) {
    if (metric.name == "assay_http_websockets") frame->sessions = metric.value;
    if (metric.name == "assay_http_connections") frame->connections = metric.value;
    if (!metric.name.starts_with("assay_gpu_")) continue;
    const auto index = metric.labels.find("gpu");
    if (index == metric.labels.end()) continue;
    const auto runner = metric.labels.find("runner");
    json::object& gpu = gpus[{runner == metric.labels.end() ? "" : runner->second, index->second}];
    if (const auto name = metric.labels.find("name"); name != metric.labels.end())
      gpu["name"] = name->second;
    gpu[metric.name.substr(10)] = metric.value;
  }
  for (auto& [place, gpu] : gpus) {
    if (!place.first.empty()) gpu["runner"] = place.first;
    gpu["gpu"] = place.second;
    frame->gpus.push_back(std::move(gpu));
  }
}

Result<Frame> Fetch(http::Client* client) {
  const auto get = [&](const std::string& path) -> Result<json::object> {
    ASSAY_ASSIGN_OR_RETURN(const std::string body, HttpGet(client, path, kTimeout));
    return ParseJsonObject(body, 64u << 20);
  };
  Frame frame;
  ASSAY_ASSIGN_OR_RETURN(frame.queue, get("/v1/queue"));
  ASSAY_ASSIGN_OR_RETURN(const json::object workers, get("/v1/workers"));
  frame.workers = GetArray(workers, "workers");
  ASSAY_ASSIGN_OR_RETURN(const json::object recent, get("/v1/submissions?limit=50"));
  frame.recent = GetArray(recent, "submissions");
  ASSAY_ASSIGN_OR_RETURN(const std::string metrics, HttpGet(client, "/metrics", kTimeout));
  ReadMetrics(ParseMetrics(metrics), &frame);
  return frame;
}

std::string Ago(double unix_time) {
  const double seconds = std::max(0.0, static_cast<double>(std::time(nullptr)) - unix_time);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

/// `text` in `width` columns: cut or filled. Names come from clients, so they are cleaned.
std::string Fit(std::string_view text, size_t width) {
  std::string clean = CleanText(text);
  std::replace(clean.begin(), clean.end(), '\n', ' ');
  if (clean.size() > width) clean = TruncateMiddle(clean, width).substr(0, width);
  return clean + std::string(width - std::min(width, clean.size()), ' ');
}

std::vector<std::string> GpuLines(const json::array& gpus) {
  std::vector<std::string> lines;
  for (const json::value& value : gpus) {
    const json::object& gpu = value.get_object();
    std::string line = fmt::format("  gpu {} {} {:5.1f} of {:5.1f} GiB",
                                   Fit(GetString(gpu, "gpu"), 3), Fit(GetString(gpu, "name"), 24),
                                   GetDouble(gpu, "memory_used_bytes") / (1u << 30),
                                   GetDouble(gpu, "memory_total_bytes") / (1u << 30));
    if (gpu.contains("sm_clock_hertz"))
      line += fmt::format("  {:4.0f} MHz", GetDouble(gpu, "sm_clock_hertz") / 1e6);
    if (gpu.contains("power_watts"))
      line += fmt::format("  {:3.0f} W", GetDouble(gpu, "power_watts"));
    if (gpu.contains("temperature_celsius"))
      line += fmt::format("  {:2.0f} C", GetDouble(gpu, "temperature_celsius"));
    if (GetDouble(gpu, "slowed") > 0) line += "  slowed";
    if (gpu.contains("runner")) line += "  " + CleanText(GetString(gpu, "runner"));
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The frame in at most `rows` lines of `columns`.
std::string Draw(const Frame& frame, const std::string& url, size_t rows, size_t columns) {
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("assay at {}{}", url, GetBool(frame.queue, "draining") ? "   DRAINING" : ""));
  lines.push_back(
      fmt::format("queue    {} waiting ({:.1f} s the oldest), {} running, {:.1f} s to "
                  "drain; {:.0f} sessions, {:.0f} connections",
                  GetInt(frame.queue, "queued"), GetDouble(frame.queue, "oldest_wait_s"),
                  GetInt(frame.queue, "running"), GetDouble(frame.queue, "drain_estimate_s"),
                  frame.sessions, frame.connections));
  lines.emplace_back("workers");
  if (frame.workers.empty())
    lines.emplace_back("  none yet: the engine is starting, or no `assay worker` has come");
  for (const json::value& value : frame.workers) {
    if (!value.is_object()) continue;
    const json::object& worker = value.get_object();
    // One of another process is only as alive as it was when it was heard.
    const std::string heard =
        GetBool(worker, "remote")
            ? fmt::format(", heard {:.0f} s ago", GetDouble(worker, "last_heard_s"))
            : "";
    lines.push_back(fmt::format("  {} {} at once, {} in work, {} judged, {} failed{}  {}",
                                Fit(GetString(worker, "name"), 20), GetInt(worker, "jobs"),
                                GetArray(worker, "working_on").size(), GetInt(worker, "judged"),
                                GetInt(worker, "failed"), heard,
                                Fit(GetString(worker, "last_error"), 60)));
  }
  const std::vector<std::string> gpus = GpuLines(frame.gpus);
  lines.insert(lines.end(), gpus.begin(), gpus.end());
  lines.push_back(fmt::format("{} {} {} {} {} {}", Fit("recent", 24), Fit("task", 28),
                              Fit("owner", 12), Fit("state", 20), Fit("speedup", 8), "age"));
  for (const json::value& value : frame.recent) {
    if (lines.size() >= rows || !value.is_object()) break;
    const json::object& job = value.get_object();
    const std::string state = GetString(job, "state");
    const std::string stage = GetString(job, "stage");
    const std::string shown = state == "done"                        ? GetString(job, "status")
                              : state == "running" && !stage.empty() ? "running: " + stage
                                                                     : state;
    const double speedup = GetDouble(GetObject(job, "verdict"), "speedup", -1);
    lines.push_back(
        fmt::format("{} {} {} {} {} {}", Fit(GetString(job, "id"), 24),
                    Fit(GetString(job, "task_id"), 28), Fit(GetString(job, "owner"), 12),
                    Fit(shown, 20), Fit(speedup < 0 ? "" : fmt::format("{:.2f}x", speedup), 8),
                    Ago(GetDouble(job, "finished_at", GetDouble(job, "submitted_at")))));
  }
  std::string text;
  for (const std::string& line : lines) text += line.substr(0, columns) + "\n";
  return text;
}

int ShowOnce(const Options& options, http::Client* client) {
  Result<Frame> frame = Fetch(client);
  if (!frame.ok()) return Report(frame.error());
  if (options.as_json) {
    fmt::print("{}\n", PrettyJson(json::object{{"queue", frame->queue},
                                               {"workers", frame->workers},
                                               {"gpus", frame->gpus},
                                               {"sessions", frame->sessions},
                                               {"connections", frame->connections},
                                               {"recent", frame->recent}}));
  } else {
    fmt::print("{}", Draw(*frame, options.url, 40, 160));
  }
  return kExitOk;
}

volatile std::sig_atomic_t stopped = 0;

/// Keys come one by one and unseen; restored at the end.
class RawTerminal {
 public:
  RawTerminal() : valid_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!valid_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    fmt::print("\x1b[?1049h\x1b[?25l");  // another screen, no cursor
  }
  ~RawTerminal() {
    if (!valid_) return;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    fmt::print("\x1b[?25h\x1b[?1049l");
    std::fflush(stdout);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  const bool valid_;
};

int Watch(const Options& options, http::Client* client) {
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  const RawTerminal terminal;
  while (stopped == 0) {
    winsize size{};
    ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const size_t rows = size.ws_row > 4 ? size.ws_row - 2u : 22;
    const size_t columns = size.ws_col > 20 ? size.ws_col : 80;
    const Result<Frame> frame = Fetch(client);
    const std::string text = frame.ok() ? Draw(*frame, options.url, rows, columns)
                                        : fmt::format("{}\n", frame.error().message);
    fmt::print("\x1b[H\x1b[2J{}q: quit", text);
    std::fflush(stdout);
    pollfd wait{STDIN_FILENO, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(options.interval_s * 1000)) > 0) {
      char pressed = 'q';
      if (::read(STDIN_FILENO, &pressed, 1) <= 0 || pressed == 'q') break;
    }
  }
  return kExitOk;
}

int Top(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);  // writing to a server that has gone is an error like others
  const Result<http::ServerAddress> server = http::ParseServerUrl(options.url);
  if (!server.ok()) return Report(server.error());
  const Result<std::string> key = ReadKey(options.key_file);
  if (!key.ok()) return Report(key.error());
  http::Client client(*server, *key, options.trust);
  const bool terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  return options.once || options.as_json || !terminal ? ShowOnce(options, &client)
                                                      : Watch(options, &client);
}

}  // namespace

void AddTop(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app->add_subcommand("top", "Watch a server: queue, workers, GPUs, recent verdicts");
  command->add_option("url", options->url, "of the server")->capture_default_str();
  command->add_option("--key-file", options->key_file,
                      "file with the key to send (default: $ASSAY_API_KEY)");
  command->add_option("--ca-file", options->trust.ca_file,
                      "PEM file of whom to believe, for https (default: the system's)");
  command->add_flag("--insecure", options->trust.insecure,
                    "with https: believe any server, and send it the key");
  command->add_option("--interval", options->interval_s, "seconds between frames")
      ->check(CLI::Range(0.2, 3600.0))
      ->capture_default_str();
  command->add_flag("--once", options->once,
                    "one frame, then end; also where there is no terminal");
  command->add_flag("--json", options->as_json, "one frame as JSON");
  command->footer(
      "A key sees its own submissions; with the scope admin it sees all.\n"
      "Examples:\n"
      "  assay top\n"
      "  assay top https://gpu-host:8000 --ca-file cert.pem --key-file key\n"
      "  ssh gpu-host assay top --once");
  command->callback([options, exit_code] { *exit_code = Top(*options); });
}

}  // namespace assay
