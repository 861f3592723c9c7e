#include "worker/zygote.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "base/resource.h"
#include "base/strings.h"

namespace assay {
namespace {

constexpr char kStartZygote[] =
    "import sys; sys.path.insert(0, sys.argv[1]); from assay.runtime import zygote; "
    "zygote.main(int(sys.argv[2]), sys.argv[3])";

constexpr int kChannelFd = 3;

std::string_view Name(Role role) {
  switch (role) {
    case Role::kJudge:
      return "judge";
    case Role::kReference:
      return "reference";
    case Role::kCandidate:
      return "candidate";
    case Role::kTool:
      return "tool";
  }
  return "candidate";
}

/// Path of libassay_native.so: beside the program's lib folder, or installed.
Result<std::string> FindNativeLibrary(const std::string& python_folder) {
  char self[4096];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  const std::string program(self, n > 0 ? static_cast<size_t>(n) : 0);
  const std::string folder = program.substr(0, program.rfind('/'));
  for (const std::string& path :
       {folder + "/../lib/libassay_native.so", folder + "/libassay_native.so",
        python_folder + "/assay/libassay_native.so"})
    if (::access(path.c_str(), R_OK) == 0) return path;
  return Err(
      ErrorCode::kNotFound,
      "libassay_native.so is neither in {}/../lib nor in {}/assay: build the target assay_native",
      folder, python_folder);
}

/// Variables of ours that must not reach code that others wrote: keys, tokens and what would change
/// how torch and Triton behave.
std::vector<std::string> ForeignVariables() {
  std::vector<std::string> names;
  constexpr std::string_view kKept[] = {
      "PATH",       "HOME",        "LANG",   "LD_LIBRARY_PATH",   "CUDA_HOME", "CUDA_PATH",
      "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR", "OPENBLAS_CORETYPE", "CC",        "CXX"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::find(std::begin(kKept), std::end(kKept), name) == std::end(kKept) &&
        name.substr(0, 3) != "LC_")
      names.emplace_back(name);
  }
  return names;
}

}  // namespace

Result<std::unique_ptr<Zygote>> Zygote::Start(ZygoteOptions options, const Limits& limits,
                                              OutputDrain* drain) {
  // Grandchildren become ours when their parent ends, so that we reap and know them.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return ErrnoError("PR_SET_CHILD_SUBREAPER", errno);
  std::unique_ptr<Zygote> zygote(new Zygote(std::move(options), limits, drain));
  ASSAY_RETURN_IF_ERROR(zygote->Launch());
  return zygote;
}

Zygote::~Zygote() {
  if (process_.running()) static_cast<void>(process_.Kill());
  std::error_code ignored;
  if (!tools_.empty()) std::filesystem::remove_all(tools_, ignored);
}

Status Zygote::Launch() {
  ASSAY_ASSIGN_OR_RETURN(const std::string python_folder, FindResource("python"));
  ASSAY_ASSIGN_OR_RETURN(const std::string native, FindNativeLibrary(python_folder));
  ASSAY_ASSIGN_OR_RETURN(auto pair, SocketPair());
  ASSAY_ASSIGN_OR_RETURN(OutputDrain::Stream err, drain_->Open(limits_.output_bytes));
  stderr_ = err.output;
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (tools_.empty()) {
    // One folder for all launches: the sandbox of candidates names it.
    std::string pattern = std::filesystem::temp_directory_path() / "assay-tools-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr || ::chmod(pattern.c_str(), 0755) != 0)
      return ErrnoError(pattern, errno);
    tools_ = pattern;
  }
  const json::object config{{"tools", tools_},
                            {"native", native},
                            {"device", options_.cuda ? "cuda" : "cpu"},
                            {"capability", options_.capability},
                            {"threads", options_.threads}};
  SpawnOptions spawn;
  spawn.argv = {
      options_.python,        "-c", kStartZygote, python_folder, std::to_string(kChannelFd),
      json::serialize(config)};
  spawn.unset_env = ForeignVariables();
  spawn.env = {{"PYTHONDONTWRITEBYTECODE", "1"},
               {"PYTHONUNBUFFERED", "1"},
               {"TOKENIZERS_PARALLELISM", "false"},
               // Threads that wait for work spin for 0.1 ms, as between the operators of a call;
               // those that spin for milliseconds take the processors that others are timed on.
               {"GOMP_SPINCOUNT", "2000"}};
  if (options_.cuda) {
    spawn.env.emplace_back("CUDA_VISIBLE_DEVICES", options_.gpu_uuid);
    spawn.env.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    // torch.cuda.is_available(), which imports call, would initialise CUDA here and forbid it in
    // forks.
    spawn.env.emplace_back("PYTORCH_NVML_BASED_CUDA_CHECK", "1");
    spawn.env.emplace_back("TORCH_CUDA_ARCH_LIST", fmt::format("{}.{}", options_.capability / 10,
                                                               options_.capability % 10));
  } else {
    spawn.env.emplace_back("CUDA_VISIBLE_DEVICES", "");
    spawn.env.emplace_back("TRITON_INTERPRET", "1");
    // Results come from memory that was used before: the first touch of a page takes as long as a
    // short operator's work on it.
    spawn.env.emplace_back(
        "GLIBC_TUNABLES",
        "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1099511627776");
  }
  spawn.fds = {{null.get(), 0},
               {err.write_end.get(), 1},
               {err.write_end.get(), 2},
               {pair.second.get(), kChannelFd}};
  ASSAY_ASSIGN_OR_RETURN(process_, Spawn(spawn));
  pair.second.Reset();
  err.write_end.Reset();
  channel_ = Channel(std::move(pair.first));

  Result<Message> hello = channel_.Receive(DeadlineIn(Seconds(limits_.start_s)));
  if (hello.ok() && GetString(hello->body, "event") == "ready") {
    environment_ = std::move(hello->body);
    environment_.erase("event");
    return {};
  }
  static_cast<void>(process_.Kill());
  const std::string why = hello.ok() ? GetString(hello->body, "error") : stderr_->Text();
  return Err(ErrorCode::kUnavailable,
             "'{}' cannot run torch: {}\nName an interpreter that has torch >= 2.6 with --python "
             "PATH, or run "
             "`{} -m pip install torch triton`.",
             options_.python, TruncateMiddle(CleanText(Trim(why)), 1500), options_.python);
}

Result<std::unique_ptr<RuntimeProcess>> Zygote::Fork(Role role, int connections,
                                                     const SandboxSpec* sandbox) {
  json::object env;
  if (options_.cuda) env["CUDA_DEVICE_MAX_CONNECTIONS"] = std::to_string(connections);
  json::object request{{"op", "fork"}, {"role", Name(role)}, {"env", std::move(env)}};
  if (sandbox != nullptr) request["sandbox"] = sandbox->ToJson();
  const std::lock_guard guard(mutex_);
  Result<std::unique_ptr<RuntimeProcess>> process = ForkOnce(request);
  if (process.ok() || process.error().code == ErrorCode::kInternal) return process;
  LogWarn("the zygote failed ({}); starting a new one", process.error().message);
  if (process_.running()) static_cast<void>(process_.Kill());
  ASSAY_RETURN_IF_ERROR(Launch());
  return ForkOnce(request);
}

Result<std::unique_ptr<RuntimeProcess>> Zygote::ForkOnce(const json::object& request) {
  ASSAY_ASSIGN_OR_RETURN(auto pair, SocketPair());
  ASSAY_ASSIGN_OR_RETURN(SharedControl control, SharedControl::Create());
  const bool tool = GetString(request, "role") == Name(Role::kTool);
  ASSAY_ASSIGN_OR_RETURN(OutputDrain::Stream out,
                         drain_->Open(tool ? limits_.tool_output_bytes : limits_.output_bytes));
  ASSAY_ASSIGN_OR_RETURN(OutputDrain::Stream err, drain_->Open(limits_.output_bytes));
  const int fds[] = {pair.second.get(), control.fd(), out.write_end.get(), err.write_end.get()};
  const TimePoint deadline = DeadlineIn(Seconds(limits_.warm_s));
  ASSAY_RETURN_IF_ERROR(channel_.Send(request, fds, deadline));
  ASSAY_ASSIGN_OR_RETURN(const Message reply, channel_.Receive(deadline));
  const auto pid = static_cast<pid_t>(GetInt(reply.body, "pid"));
  if (pid <= 0)
    return Err(ErrorCode::kInternal, "fork failed: {}",
               GetString(reply.body, "error", "no process number"));
  ASSAY_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Adopt(pid, /*group=*/false));
  return std::make_unique<RuntimeProcess>(std::move(child), Channel(std::move(pair.first)),
                                          std::move(control), out.output, err.output);
}

Result<json::object> WaitReady(RuntimeProcess* process, TimePoint deadline) {
  Result<Message> message = process->Receive(deadline);
  if (message.ok() && GetString(message->body, "event") == "ready") {
    process->RemoveAtEnd(GetString(message->body, "remove"));
    return std::move(message->body);
  }
  return Err(ErrorCode::kUnavailable, "a forked process did not become ready: {}\n{}",
             message.ok() ? "unexpected message" : message.error().message,
             TruncateMiddle(CleanText(Trim(process->StderrText())), 2000));
}

}  // namespace assay
