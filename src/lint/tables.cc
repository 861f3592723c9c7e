#include "lint/tables.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace assay::lint {
namespace {

using Set = std::unordered_set<std::string_view>;

constexpr const char* kProcess =
    "reaches the process or the system; a kernel module needs neither, remove it";
constexpr const char* kMemory =
    "reaches memory and code behind Python's back; use tensors and kernels";
constexpr const char* kThreads =
    "runs beside the call; everything must be launched by forward itself, on the current stream";
constexpr const char* kLock =
    "fine around a lazy compilation, otherwise not needed: forward is called from one thread";
constexpr const char* kTime =
    "reads a clock; results must not depend on time, and the measurement is taken outside";
constexpr const char* kTorchTiming =
    "times or synchronises the device; the measurement is taken outside, a kernel launch needs "
    "neither";
constexpr const char* kInternals = "uses torch's internals; stay with the public interface";
constexpr const char* kObjects =
    "walks or loads objects that are not yours; use your inputs and parameters only";
constexpr const char* kRegistration =
    "registers or replaces operators of torch; call your kernel from forward instead";
constexpr const char* kPhase = "tells one call from another; every call must do the same work";
constexpr const char* kLazy =
    "makes tensors that compute later; return plain tensors whose values are already being "
    "computed";

constexpr Forbidden kForbidden[] = {
    {"sys", "S4.forbidden", kProcess},
    {"os", "S4.forbidden", kProcess},
    {"subprocess", "S4.forbidden", kProcess},
    {"socket", "S4.forbidden", kProcess},
    {"signal", "S4.forbidden", kProcess},
    {"atexit", "S4.forbidden", kProcess},
    {"builtins", "S4.forbidden", kProcess},
    {"importlib", "S4.forbidden", kProcess},
    {"runpy", "S4.forbidden", kProcess},
    {"code", "S4.forbidden", kProcess},
    {"shutil", "S4.forbidden", kProcess},
    {"resource", "S4.forbidden", kProcess},
    {"faulthandler", "S4.forbidden", kProcess},
    {"ctypes", "S4.forbidden", kMemory},
    {"cffi", "S4.forbidden", kMemory},
    {"mmap", "S4.forbidden", kMemory},
    {"gc", "S4.forbidden", kObjects},
    {"inspect", "S4.forbidden", kObjects},
    {"weakref", "S4.forbidden", kObjects},
    {"pickle", "S4.forbidden", kObjects},
    {"marshal", "S4.forbidden", kObjects},
    {"dill", "S4.forbidden", kObjects},
    {"traceback", "S4.forbidden", kObjects},
    {"threading", "S4.thread", kThreads},
    {"threading.Lock", "S4.lock", kLock},
    {"threading.RLock", "S4.lock", kLock},
    {"_thread", "S4.thread", kThreads},
    {"multiprocessing", "S4.thread", kThreads},
    {"concurrent", "S4.thread", kThreads},
    {"asyncio", "S4.thread", kThreads},
    {"torch.multiprocessing", "S4.thread", kThreads},
    {"torch.distributed", "S4.thread", kThreads},
    {"time", "S4.time", kTime},
    {"timeit", "S4.time", kTime},
    {"datetime", "S4.time", kTime},
    {"torch.cuda.Event", "S4.timing", kTorchTiming},
    {"torch.Event", "S4.timing", kTorchTiming},
    {"torch.cuda.synchronize", "S4.timing", kTorchTiming},
    {"torch.accelerator.synchronize", "S4.timing", kTorchTiming},
    {"torch.autograd.profiler", "S4.timing", kTorchTiming},
    {"torch.profiler", "S4.timing", kTorchTiming},
    {"torch.utils.benchmark", "S4.timing", kTorchTiming},
    {"triton.testing", "S4.timing", kTorchTiming},
    {"torch.utils._python_dispatch", "S4.lazy", kLazy},
    {"torch.overrides", "S4.lazy", kLazy},
    {"torch.Tensor._make_subclass", "S4.lazy", kLazy},
    {"torch.Tensor._make_wrapper_subclass", "S4.lazy", kLazy},
    {"torch.Tensor.as_subclass", "S4.lazy", kLazy},
    {"torch.library.Library", "S4.library", kRegistration},
    {"torch.library.impl", "S4.library", kRegistration},
    {"torch.library.define", "S4.library", kRegistration},
    {"torch.library.register_kernel", "S4.library", kRegistration},
    {"torch.library.register_torch_dispatch", "S4.library", kRegistration},
    {"torch.initial_seed", "S4.phase", kPhase},
    {"torch.random.initial_seed", "S4.phase", kPhase},
    {"torch.get_rng_state", "S4.phase", kPhase},
    {"torch.cuda.initial_seed", "S4.phase", kPhase},
    {"torch.cuda.get_rng_state", "S4.phase", kPhase},
    {"torch.load", "S4.forbidden", kObjects},
    {"torch.save", "S4.forbidden", kObjects},
    {"torch.hub", "S4.forbidden", kObjects},
    {"numpy.load", "S4.forbidden", kObjects},
    {"numpy.memmap", "S4.forbidden", kObjects},
    {"numpy.ctypeslib", "S4.forbidden", kMemory},
};

// Parts of forbidden modules that extensions and optional imports need.
const Set& Exempt() {
  static const Set set{"os.environ",       "os.environ.get", "os.environ.setdefault", "os.getenv",
                       "os.path",          "os.cpu_count",   "os.makedirs",           "os.getcwd",
                       "sys.version_info", "sys.version",    "sys.platform",          "sys.maxsize",
                       "torch._assert",    "torch._check"};
  return set;
}

constexpr Forbidden kBuiltins[] = {
    {"exec", "S4.builtin", "runs text as code; write the code itself"},
    {"eval", "S4.builtin", "runs text as code; write the expression itself"},
    {"compile", "S4.builtin", "runs text as code; write the code itself"},
    {"__import__", "S4.builtin", "imports by text; use an import statement"},
    {"open", "S4.builtin", "opens files; keep sources in strings and data in tensors"},
    {"globals", "S4.builtin", "edits names behind the reader's back; use plain variables"},
    {"locals", "S4.builtin", "edits names behind the reader's back; use plain variables"},
    {"vars", "S4.builtin", "edits names behind the reader's back; use plain variables"},
    {"breakpoint", "S4.builtin", "stops the process; remove it"},
    {"input", "S4.builtin", "waits for a person; remove it"},
    {"__builtins__", "S4.builtin", "reaches the built-in functions' table; use them by name"},
    {"__loader__", "S4.builtin", "reaches the import system; use an import statement"},
};

constexpr const char* kInternalsRule = "S4.internals";
constexpr Forbidden kTorchInternal{"torch._", kInternalsRule, kInternals};

std::string_view Parent(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

}  // namespace

const Forbidden* FindForbidden(std::string_view path) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const Forbidden*> map;
    for (const Forbidden& entry : kForbidden) map.emplace(entry.path, &entry);
    return map;
  }();
  for (std::string_view part = path; !part.empty(); part = Parent(part)) {
    if (Exempt().contains(part)) return nullptr;
    if (const auto found = table.find(part); found != table.end()) return found->second;
  }
  if (path.starts_with("torch._") || path.starts_with("torch.utils._"))
    return IsComputePath(path) ? nullptr : &kTorchInternal;
  return nullptr;
}

const Forbidden* FindForbiddenBuiltin(std::string_view name) {
  for (const Forbidden& entry : kBuiltins)
    if (entry.path == name) return &entry;
  return nullptr;
}

bool IsOrdinaryDunder(std::string_view name) {
  static const Set set{"__init__",
                       "__name__",
                       "__qualname__",
                       "__doc__",
                       "__call__",
                       "__class__",
                       "__version__",
                       "__file__",
                       "__len__",
                       "__getitem__",
                       "__setitem__",
                       "__enter__",
                       "__exit__",
                       "__iter__",
                       "__next__",
                       "__post_init__",
                       "__module__",
                       "__new__",
                       "__repr__",
                       "__str__",
                       "__add__",
                       "__mul__",
                       "__matmul__",
                       "__contains__",
                       "__hash__",
                       "__eq__",
                       "__wrapped__",
                       "__all__",
                       "__cuda_array_interface__"};
  return set.contains(name);
}

bool IsFrameAttribute(std::string_view name) {
  static const Set set{"f_back",       "f_globals",   "f_locals",     "f_code",   "f_builtins",
                       "tb_frame",     "tb_next",     "gi_frame",     "cr_frame", "_getframe",
                       "currentframe", "get_objects", "get_referrers"};
  return set.contains(name);
}

bool IsAllowedImport(std::string_view root) {
  static const Set set{"torch",      "triton",    "math",        "typing",     "typing_extensions",
                       "functools",  "itertools", "dataclasses", "numpy",      "collections",
                       "enum",       "abc",       "operator",    "contextlib", "warnings",
                       "textwrap",   "numbers",   "copy",        "string",     "hashlib",
                       "logging",    "cmath",     "struct",      "types",      "cutlass",
                       "cupy",       "numba",     "tilelang",    "helion",     "einops",
                       "__future__", "os",        "re",          "statistics", "fractions"};
  return set.contains(root);
}

bool IsStreamPath(std::string_view path) {
  static const Set set{"torch.cuda.Stream",
                       "torch.cuda.stream",
                       "torch.cuda.graph",
                       "torch.cuda.graphs",
                       "torch.cuda.CUDAGraph",
                       "torch.cuda.set_stream",
                       "torch.Stream",
                       "torch.cuda.ExternalStream",
                       "torch.cuda.StreamContext",
                       "torch.cuda.make_graphed_callables"};
  return set.contains(path);
}

bool IsCompilerPath(std::string_view path) {
  static const Set set{"torch.compile",          "torch.jit.script",    "torch.jit.trace",
                       "torch._dynamo.optimize", "torch.export.export", "torch._inductor.compile"};
  return set.contains(path);
}

bool IsGlobalSetting(std::string_view path) {
  static const Set set{"torch.set_float32_matmul_precision",
                       "torch.use_deterministic_algorithms",
                       "torch.set_default_dtype",
                       "torch.set_default_device",
                       "torch.set_num_threads",
                       "torch.set_flush_denormal",
                       "torch.manual_seed",
                       "torch.cuda.manual_seed",
                       "torch.cuda.manual_seed_all",
                       "torch.cuda.memory.set_per_process_memory_fraction",
                       "torch.cuda.set_per_process_memory_fraction"};
  return set.contains(path);
}

}  // namespace assay::lint
