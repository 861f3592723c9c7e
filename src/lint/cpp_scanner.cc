#include "lint/cpp_scanner.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace assay::lint {
namespace {

using Type = CppToken::Type;

/// How a name must stand to count.
enum class Where : uint8_t {
  kCall,       ///< a free or std:: function that is called
  kAnywhere,   ///< any mention
  kPrefix,     ///< any mention of a name that begins so
  kAttribute,  ///< within __attribute__((…)) or [[…]]
  kStd,        ///< after std::
  kHeader,     ///< an included file
};

struct Rule {
  Where where;
  std::string_view name;
  const char* id;
  const char* reason;
};

constexpr const char* kProcess = "starts or controls processes; a kernel needs none, remove it";
constexpr const char* kLoader =
    "loads or looks up code at run time; link what you need through extra_ldflags instead";
constexpr const char* kFiles = "reads the machine's files; a kernel gets all it needs as tensors";
constexpr const char* kThread =
    "starts a host thread; all work must be launched by the call itself on the current stream";
constexpr const char* kNetwork = "opens a socket; the sandbox has no network";
constexpr const char* kEvent =
    "uses CUDA events; time is taken outside, and a fork and join of streams is rarely needed";
constexpr const char* kStream =
    "creates a stream; launch on at::cuda::getCurrentCUDAStream(), or join the stream to it before "
    "returning";
constexpr const char* kGraph =
    "uses CUDA graphs; copy every new input into the captured buffers before each replay";
constexpr const char* kContext =
    "changes the CUDA context, which is shared by the measurement; drop it";
constexpr const char* kPersist =
    "sets persisting-L2 limits, which outlive the call; drop it, caches are cold in the "
    "measurement";
constexpr const char* kClock = "reads a clock; a kernel's result must not depend on time";
constexpr const char* kConstructor =
    "runs code when the library is loaded; do the work in the function that forward calls";
constexpr const char* kHost = "runs host code behind the stream; do the work in the call itself";

constexpr Rule kRules[] = {
    {Where::kCall, "system", "S9.process", kProcess},
    {Where::kCall, "popen", "S9.process", kProcess},
    {Where::kCall, "fork", "S9.process", kProcess},
    {Where::kCall, "vfork", "S9.process", kProcess},
    {Where::kCall, "clone", "S9.process", kProcess},
    {Where::kCall, "execl", "S9.process", kProcess},
    {Where::kCall, "execlp", "S9.process", kProcess},
    {Where::kCall, "execv", "S9.process", kProcess},
    {Where::kCall, "execve", "S9.process", kProcess},
    {Where::kCall, "execvp", "S9.process", kProcess},
    {Where::kCall, "posix_spawn", "S9.process", kProcess},
    {Where::kCall, "ptrace", "S9.process", kProcess},
    {Where::kCall, "kill", "S9.process", kProcess},
    {Where::kCall, "process_vm_readv", "S9.process", kProcess},
    {Where::kCall, "process_vm_writev", "S9.process", kProcess},
    {Where::kCall, "syscall", "S9.process", kProcess},
    {Where::kCall, "dlopen", "S9.loader", kLoader},
    {Where::kCall, "dlsym", "S9.loader", kLoader},
    {Where::kCall, "mprotect", "S9.loader", kLoader},
    {Where::kCall, "cudaGetDriverEntryPoint", "S9.loader", kLoader},
    {Where::kCall, "mmap", "S9.files", kFiles},
    {Where::kCall, "shm_open", "S9.files", kFiles},
    {Where::kCall, "socket", "S9.network", kNetwork},
    {Where::kCall, "connect", "S9.network", kNetwork},
    {Where::kAnywhere, "pthread_create", "S9.thread", kThread},
    {Where::kStd, "thread", "S9.thread", kThread},
    {Where::kStd, "jthread", "S9.thread", kThread},
    {Where::kStd, "async", "S9.thread", kThread},
    {Where::kPrefix, "cudaEvent", "S9.event", kEvent},
    {Where::kPrefix, "cuEvent", "S9.event", kEvent},
    {Where::kPrefix, "cudaStreamCreate", "S9.stream", kStream},
    {Where::kPrefix, "cuStreamCreate", "S9.stream", kStream},
    {Where::kAnywhere, "getStreamFromPool", "S9.stream", kStream},
    {Where::kPrefix, "cudaGraph", "S9.graph", kGraph},
    {Where::kPrefix, "cuGraph", "S9.graph", kGraph},
    {Where::kAnywhere, "cudaStreamBeginCapture", "S9.graph", kGraph},
    {Where::kAnywhere, "cudaLaunchHostFunc", "S9.host", kHost},
    {Where::kAnywhere, "cudaStreamAddCallback", "S9.host", kHost},
    {Where::kPrefix, "cuCtx", "S9.context", kContext},
    {Where::kPrefix, "cuDevicePrimaryCtx", "S9.context", kContext},
    {Where::kAnywhere, "cudaDeviceReset", "S9.context", kContext},
    {Where::kAnywhere, "cudaLimitPersistingL2CacheSize", "S9.persist", kPersist},
    {Where::kAnywhere, "cudaAccessPropertyPersisting", "S9.persist", kPersist},
    {Where::kAnywhere, "cudaStreamAttributeAccessPolicyWindow", "S9.persist", kPersist},
    {Where::kCall, "clock", "S9.clock", kClock},
    {Where::kCall, "clock64", "S9.clock", kClock},
    {Where::kCall, "clock_gettime", "S9.clock", kClock},
    {Where::kCall, "gettimeofday", "S9.clock", kClock},
    {Where::kCall, "__nanosleep", "S9.clock", kClock},
    {Where::kAttribute, "constructor", "S9.constructor", kConstructor},
    {Where::kAttribute, "destructor", "S9.constructor", kConstructor},
    {Where::kHeader, "thread", "S9.thread", kThread},
    {Where::kHeader, "future", "S9.thread", kThread},
    {Where::kHeader, "pthread.h", "S9.thread", kThread},
    {Where::kHeader, "dlfcn.h", "S9.loader", kLoader},
    {Where::kHeader, "sys/ptrace.h", "S9.process", kProcess},
    {Where::kHeader, "sys/mman.h", "S9.files", kFiles},
    {Where::kHeader, "sys/socket.h", "S9.network", kNetwork},
};

// Special registers that only code which watches the clock reads.
constexpr std::string_view kClockRegisters[] = {"%globaltimer", "%clock"};
constexpr std::string_view kSystemFolders[] = {"/proc/", "/sys/", "/dev/"};

using RulesByName = std::unordered_multimap<std::string_view, const Rule*>;

/// The rules for exact names; there are few prefixes, which are compared one by one.
const RulesByName& ExactRules() {
  static const RulesByName table = [] {
    RulesByName rules;
    for (const Rule& rule : kRules)
      if (rule.where != Where::kPrefix) rules.emplace(rule.name, &rule);
    return rules;
  }();
  return table;
}

class Scanner {
 public:
  explicit Scanner(std::string_view source) : tokens_(TokenizeCpp(source)) {}

  CppReport Run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const CppToken& token = tokens_[i];
      switch (token.type) {
        case Type::kIdentifier:
          Identifier(i);
          break;
        case Type::kString:
          String(i);
          break;
        case Type::kHeader:
          ApplyExact(i);
          break;
        default:
          break;
      }
    }
    return std::move(report_);
  }

 private:
  [[nodiscard]] std::string_view TextAt(size_t i) const {
    return i < tokens_.size() && tokens_[i].type != Type::kString ? tokens_[i].text
                                                                  : std::string_view();
  }

  void Add(const char* id, const char* reason, const CppToken& token) {
    report_.findings.push_back({id, std::string(token.text.substr(0, 60)), reason, token.offset});
  }
  void Add(const Rule& rule, const CppToken& token) { Add(rule.id, rule.reason, token); }

  /// A call of a global or std:: function: not a member, not another namespace's, not a
  /// declaration.
  [[nodiscard]] bool IsFreeCall(size_t i) const {
    if (TextAt(i + 1) != "(") return false;
    if (i == 0) return true;
    const std::string_view before = TextAt(i - 1);
    if (before == "." || before == "->") return false;
    if (before == "::")
      return i < 2 || tokens_[i - 2].type != Type::kIdentifier || TextAt(i - 2) == "std";
    // `torch::Tensor clock(` declares; `return clock(` calls.
    return tokens_[i - 1].type != Type::kIdentifier || before == "return" || before == "else";
  }

  [[nodiscard]] bool Matches(const Rule& rule, size_t i) const {
    const std::string_view text = tokens_[i].text;
    if ((rule.where == Where::kHeader) != (tokens_[i].type == Type::kHeader)) return false;
    switch (rule.where) {
      case Where::kCall:
        return text == rule.name && IsFreeCall(i);
      case Where::kAnywhere:
        return text == rule.name;
      case Where::kPrefix:
        return text.starts_with(rule.name);
      case Where::kStd:
        return text == rule.name && i >= 2 && TextAt(i - 1) == "::" && TextAt(i - 2) == "std";
      case Where::kAttribute:
        return text == rule.name && i >= 2 &&
               ((TextAt(i - 1) == "(" && TextAt(i - 2) == "(") ||
                (TextAt(i - 1) == "::" && TextAt(i - 2) == "gnu"));
      case Where::kHeader:
        return text == rule.name;
    }
    return false;
  }

  void Identifier(size_t i) {
    const std::string_view text = tokens_[i].text;
    if (text == "__global__") report_.has_kernel = true;
    if (text == "for" || text == "while") report_.has_loop = true;
    if (text == "static" || text == "__device__") StaticState(i);
    ApplyExact(i);
    if (!text.starts_with("cu")) return;
    for (const Rule& rule : kRules)
      if (rule.where == Where::kPrefix) Apply(rule, i);
  }

  void ApplyExact(size_t i) {
    const auto [begin, end] = ExactRules().equal_range(tokens_[i].text);
    for (auto it = begin; it != end; ++it) Apply(*it->second, i);
  }

  void Apply(const Rule& rule, size_t i) {
    if (!Matches(rule, i)) return;
    Add(rule, tokens_[i]);
    report_.uses_streams |= rule.reason == kStream || rule.reason == kGraph;
  }

  /// `static float* cache;` or `static torch::Tensor out = …;`: data that survives the call.
  void StaticState(size_t i) {
    bool state = false;
    for (size_t at = i + 1; at < tokens_.size() && at < i + 16; ++at) {
      const std::string_view text = TextAt(at);
      // Text constants are no results; a parenthesis begins a function.
      if (text == "char" || text == "(" || text == ")" || text == "}" || text == "__global__")
        return;
      if (text == "*" || text == "Tensor") state = true;
      if (text == ";" || text == "=" || text == "{") {
        if (state)
          Add("S9.static",
              "keeps a pointer or tensor between calls; allocate outputs anew in every call "
              "(scratch "
              "space is fine, results are not)",
              tokens_[i]);
        return;
      }
    }
  }

  void String(size_t i) {
    const std::string_view text = tokens_[i].text;
    for (const std::string_view folder : kSystemFolders)
      if (text.starts_with(folder)) Add("S9.files", kFiles, tokens_[i]);
    for (const std::string_view name : kClockRegisters) {
      if (text.find(name) == std::string_view::npos) continue;
      // Only in assembly: a text that merely talks of %clock is harmless.
      for (size_t back = i; back > 0 && i - back < 12; --back) {
        const std::string_view before = TextAt(back - 1);
        if (before == ";" || before == "{") break;
        if (before != "asm" && before != "__asm__" && before != "__asm") continue;
        Add("S9.clock", kClock, tokens_[i]);
        return;
      }
    }
  }

  std::vector<CppToken> tokens_;
  CppReport report_;
};

}  // namespace

CppReport ScanCpp(std::string_view source) { return Scanner(source).Run(); }

bool LooksLikeCpp(std::string_view text) {
  // One sign that prose would not carry, and the punctuation of code.
  constexpr std::string_view kSigns[] = {"#include",        "__global__",    "__device__",
                                         "PYBIND11_MODULE", "torch::Tensor", "at::Tensor",
                                         "extern \"C\"",    "TORCH_LIBRARY"};
  if (text.find('(') == std::string_view::npos || text.find(';') == std::string_view::npos)
    return false;
  return std::any_of(std::begin(kSigns), std::end(kSigns), [&](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

}  // namespace assay::lint
