#include "native/cupti_tracer.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "base/strings.h"

namespace assay {
namespace {

constexpr uint32_t kKinds[] = {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemset,
                               cupti::kMemcpyPeer};
constexpr size_t kBufferBytes = 1u << 20;
constexpr std::align_val_t kBufferAlignment{8};
constexpr int kMaxFrames = 48;

/// The launch that this thread is in: what the runtime asks the driver for is the same one.
struct Nesting {
  int depth = 0;
  Launch launch;
};
thread_local Nesting nesting;  // NOLINT: callbacks have no other place of their own

const cupti::LaunchCall* FindCall(uint32_t domain, uint32_t id) {
  for (const cupti::LaunchCall& call : cupti::kLaunchCalls)
    if (call.domain == domain && call.id == id) return &call;
  return nullptr;
}

template <typename Key>
const Launch* Find(const std::unordered_map<Key, Launch>& map, Key key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

std::atomic<CuptiTracer*> CuptiTracer::current_{nullptr};

Result<std::unique_ptr<CuptiTracer>> CuptiTracer::Attach(std::span<const std::string> paths,
                                                         LaunchRules rules) {
  if (current_ != nullptr)
    return Err(ErrorCode::kUnavailable, "this process is being profiled already");
  ASSAY_ASSIGN_OR_RETURN(CuptiLibrary library, CuptiLibrary::Open(paths));
  std::unique_ptr<CuptiTracer> tracer(new CuptiTracer(std::move(library), std::move(rules)));
  // Loads the unwinder here rather than inside a launch.
  void* frames[1];
  static_cast<void>(::backtrace(frames, 1));
  current_ = tracer.get();
  ASSAY_RETURN_IF_ERROR(tracer->Subscribe());
  ASSAY_RETURN_IF_ERROR(tracer->Attribute(true));
  return tracer;
}

CuptiTracer::~CuptiTracer() {
  if (recording_) static_cast<void>(Stop());
  if (subscriber_ != nullptr) {
    static_cast<void>(Attribute(false));
    library_.unsubscribe(subscriber_);
  }
  current_ = nullptr;
}

Status CuptiTracer::Subscribe() {
  ASSAY_RETURN_IF_ERROR(
      library_.Check(library_.subscribe(&subscriber_, &OnCallback, this), "cuptiSubscribe"));
  return library_.Check(library_.register_buffers(&OnBufferRequested, &OnBufferCompleted),
                        "cuptiActivityRegisterCallbacks");
}

Status CuptiTracer::Attribute(bool on) {
  if (on == attributing_) return {};
  const auto enable = [&](uint32_t domain, uint32_t id) {
    return library_.enable_callback(on ? 1 : 0, subscriber_, domain, id);
  };
  int driver_calls = 0;
  int last = 0;
  for (const cupti::LaunchCall& call : cupti::kLaunchCalls) {
    // An older library does not know the newest calls, and nothing in its process makes them.
    const int code = enable(call.domain, call.id);
    if (code != cupti::kSuccess) last = code;
    if (code == cupti::kSuccess && call.domain == cupti::kDomainDriver) ++driver_calls;
  }
  if (driver_calls == 0) return library_.Check(last, "cuptiEnableCallback");
  // Where nodes cannot be seen, work of graphs stays unattributed.
  for (const uint32_t id : {cupti::kGraphNodeCreated, cupti::kGraphNodeCloned})
    static_cast<void>(enable(cupti::kDomainResource, id));
  attributing_ = on;
  return {};
}

Status CuptiTracer::Start(Window window) {
  ASSAY_RETURN_IF_ERROR(Attribute(window == kAttributed));
  {
    const std::lock_guard guard(mutex_);
    window_ = window;
    records_[window].clear();
    if (window == kAttributed) {
      launches_.clear();
      callers_.clear();
      dropped_ = 0;
    }
  }
  for (const uint32_t kind : kKinds)
    ASSAY_RETURN_IF_ERROR(library_.Check(library_.enable(kind),
                                         fmt::format("cuptiActivityEnable of activity {}", kind)));
  recording_ = true;
  return {};
}

Status CuptiTracer::Stop() {
  recording_ = false;
  Status flushed = library_.Check(library_.flush_all(cupti::kFlushForced), "cuptiActivityFlushAll");
  for (const uint32_t kind : kKinds) library_.disable(kind);
  return flushed;
}

void CuptiTracer::OnCallback(void* self, uint32_t domain, uint32_t id, const void* data) {
  auto* tracer = static_cast<CuptiTracer*>(self);
  if (data == nullptr || tracer != current_) return;
  if (domain == cupti::kDomainResource) {
    const auto* graph = static_cast<const cupti::GraphData*>(
        static_cast<const cupti::ResourceData*>(data)->descriptor);
    if (graph != nullptr) tracer->OnGraphNode(id, *graph);
  } else if (const cupti::LaunchCall* call = FindCall(domain, id); call != nullptr) {
    tracer->OnLaunch(*call, *static_cast<const cupti::CallbackData*>(data));
  }
}

void CuptiTracer::OnLaunch(const cupti::LaunchCall& call, const cupti::CallbackData& data) {
  if (data.site != 0) {
    if (nesting.depth > 0) --nesting.depth;
    return;
  }
  if (nesting.depth++ == 0) {
    nesting.launch = {};
    nesting.launch.caller = FindCaller(call.domain == cupti::kDomainDriver);
    if (call.function_at >= 0 && data.parameters != nullptr)
      std::memcpy(&nesting.launch.function,
                  static_cast<const uint8_t*>(data.parameters) + call.function_at,
                  sizeof nesting.launch.function);
  }
  const std::lock_guard guard(mutex_);
  if (launches_.size() < kMaxLaunches) launches_[data.correlation] = nesting.launch;
}

/// The nearest code on the stack that is none of CUDA's own layers.
Owner CuptiTracer::FindCaller(bool driver) {
  void* frames[kMaxFrames];
  const int count = ::backtrace(frames, kMaxFrames);
  bool in_layers = false;
  for (int i = 0; i < count; ++i) {
    Dl_info info{};
    const bool file = ::dladdr(frames[i], &info) != 0 && info.dli_fname != nullptr;
    const std::string_view path = file ? info.dli_fname : "";
    if (file && IsLaunchLayer(path)) {
      in_layers = true;
      continue;
    }
    if (!in_layers) continue;  // this file itself, where it was linked into a test
    const Owner owner = rules_.OfCaller(path, driver);
    const size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    const std::lock_guard guard(mutex_);
    std::string key = CleanText(name.substr(0, 100));
    if (callers_.size() < kMaxCallers || callers_.contains(key)) {
      Caller& caller = callers_[std::move(key)];
      caller.owner = owner;
      ++caller.launches;
    }
    return owner;
  }
  return Owner::kUnknown;
}

void CuptiTracer::OnGraphNode(uint32_t id, const cupti::GraphData& graph) {
  uint64_t node = 0;
  if (library_.graph_node_id(graph.node, &node) != cupti::kSuccess) return;
  const std::lock_guard guard(mutex_);
  if (nodes_.size() >= kMaxLaunches) return;
  if (id == cupti::kGraphNodeCreated) {
    if (nesting.depth > 0) nodes_[node] = nesting.launch;
    return;
  }
  uint64_t original = 0;
  if (library_.graph_node_id(graph.original_node, &original) != cupti::kSuccess) return;
  if (const Launch* launch = Find(nodes_, original); launch != nullptr) {
    const Launch copy = *launch;
    nodes_[node] = copy;
  }
}

void CuptiTracer::OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(::operator new(kBufferBytes, kBufferAlignment, std::nothrow));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;
}

void CuptiTracer::OnBufferCompleted(void* /*context*/, uint32_t /*stream*/, uint8_t* buffer,
                                    size_t /*size*/, size_t valid) {
  if (CuptiTracer* tracer = current_; tracer != nullptr && buffer != nullptr && valid > 0)
    tracer->OnRecords(buffer, valid);
  ::operator delete(buffer, kBufferAlignment);
}

void CuptiTracer::OnRecords(uint8_t* buffer, size_t valid) {
  const std::lock_guard guard(mutex_);
  cupti::Activity* record = nullptr;
  while (library_.next_record(buffer, valid, &record) == cupti::kSuccess)
    if (record != nullptr) Record(*record);
}

/// The lock is held.
void CuptiTracer::Record(const cupti::Activity& record) {
  std::vector<Recorded>& records = records_[window_];
  if (records.size() >= kMaxRecords) {
    ++dropped_;
    return;
  }
  Recorded item;
  if (record.kind == cupti::kConcurrentKernel) {
    const auto& kernel = reinterpret_cast<const cupti::KernelActivity&>(record);
    item.correlation = kernel.correlation;
    item.node = kernel.graph_node;
    DeviceWork& work = item.work;
    work.start_ns = kernel.start;
    work.end_ns = kernel.end;
    work.stream = kernel.stream;
    std::copy(std::begin(kernel.grid), std::end(kernel.grid), work.grid.begin());
    std::copy(std::begin(kernel.block), std::end(kernel.block), work.block.begin());
    work.registers = kernel.registers;
    work.static_shared = kernel.static_shared;
    work.dynamic_shared = kernel.dynamic_shared;
    if (kernel.name != nullptr) {
      const std::string_view name(kernel.name, ::strnlen(kernel.name, kMaxNameBytes));
      auto kept = names_.find(name);
      if (kept == names_.end() && names_.size() < kMaxNames) kept = names_.emplace(name).first;
      if (kept != names_.end()) work.name = *kept;
    }
  } else if (record.kind == cupti::kMemcpy || record.kind == cupti::kMemcpyPeer ||
             record.kind == cupti::kMemset) {
    const auto& transfer = reinterpret_cast<const cupti::TransferActivity&>(record);
    item.work.kind =
        record.kind == cupti::kMemset ? DeviceWork::Kind::kFill : DeviceWork::Kind::kCopy;
    item.work.start_ns = transfer.start;
    item.work.end_ns = transfer.end;
    item.work.stream = transfer.stream;
  } else {
    return;
  }
  records.push_back(item);
}

/// The lock is held.
std::vector<DeviceWork> CuptiTracer::Owned(const KnownFunctions& known) const {
  std::vector<DeviceWork> owned;
  owned.reserve(records_[kAttributed].size());
  for (const Recorded& item : records_[kAttributed]) {
    DeviceWork work = item.work;
    const Launch* launch =
        item.node != 0 ? Find(nodes_, item.node) : Find(launches_, item.correlation);
    if (launch != nullptr) work.owner = OwnerOf(*launch, known);
    owned.push_back(work);
  }
  return owned;
}

json::object CuptiTracer::Report(const KnownFunctions& known, uint32_t calls) const {
  const std::lock_guard guard(mutex_);
  json::object report = SumUp(Owned(known), calls);
  std::vector<DeviceWork> free;
  free.reserve(records_[kFree].size());
  for (const Recorded& item : records_[kFree]) free.push_back(item.work);
  const Occupation occupation = OccupationOf(free);
  report["busy_us"] = occupation.busy_us;
  report["span_us"] = occupation.span_us;
  report["free_records"] = static_cast<int64_t>(free.size());
  report["dropped"] = dropped_;
  report["library"] = CleanText(library_.path);
  json::object callers;
  for (const auto& [name, caller] : callers_)
    callers[name.empty() ? "(no file)" : name] =
        json::array{caller.owner == Owner::kOwn ? "own" : "library", caller.launches};
  report["callers"] = std::move(callers);
  return report;
}

}  // namespace assay
