#include "gpu/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/strings.h"
#include "base/symbols.h"

namespace assay {
namespace {

struct Memory {
  unsigned long long total, free, used;
};

/// The functions of NVML's stable ABI that Assay calls.
struct Table {
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*count)(unsigned*);
  int (*handle)(unsigned, void**);
  int (*name)(void*, char*, unsigned);
  int (*uuid)(void*, char*, unsigned);
  int (*driver)(char*, unsigned);
  int (*capability)(void*, int*, int*);
  int (*memory)(void*, Memory*);
};

/// Newer or optional functions: null where the library lacks them.
struct StateTable {
  int (*clock)(void*, int, unsigned*);
  int (*max_clock)(void*, int, unsigned*);
  int (*temperature)(void*, int, unsigned*);
  int (*power)(void*, unsigned*);
  int (*throttle)(void*, unsigned long long*);
  int (*mig)(void*, unsigned*, unsigned*);
  int (*ecc)(void*, int*, int*);
  int (*processes)(void*, unsigned*, void*);
  int (*device_number)(void*, unsigned*);
};

constexpr int kSmClock = 1;
constexpr int kGpuSensor = 0;
constexpr int kInsufficientSize = 7;  // how a count is answered when no room for the list is given

/// The opened library, initialised for as long as this lives.
class Nvml {
 public:
  static Result<std::unique_ptr<Nvml>> Open(const std::string& library);
  ~Nvml() {
    if (is_initialised_) table_.shutdown();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] const Table& table() const { return table_; }
  [[nodiscard]] const StateTable& state() const { return state_; }
  [[nodiscard]] Status Check(int code, const char* what) const {
    if (code == 0) return {};
    return Err(ErrorCode::kUnavailable, "{}: {}", what, table_.error_string(code));
  }
  [[nodiscard]] Result<unsigned> Count() const;
  [[nodiscard]] Result<void*> DeviceAt(unsigned index) const;
  [[nodiscard]] Result<std::string> Uuid(void* device) const;

 private:
  struct Closer {
    void operator()(void* library) const { ::dlclose(library); }
  };
  explicit Nvml(void* handle) : handle_(handle) {}

  std::unique_ptr<void, Closer> handle_;
  Table table_{};
  StateTable state_{};
  bool is_initialised_ = false;
};

Result<std::unique_ptr<Nvml>> Nvml::Open(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Err(ErrorCode::kUnavailable, "no NVIDIA driver ({} cannot be opened)", library);
  std::unique_ptr<Nvml> nvml(new Nvml(handle));
  Symbols symbols(handle);
  Table& table = nvml->table_;
  symbols.Require(table.init, "nvmlInit_v2");
  symbols.Require(table.shutdown, "nvmlShutdown");
  symbols.Require(table.error_string, "nvmlErrorString");
  symbols.Require(table.count, "nvmlDeviceGetCount_v2");
  symbols.Require(table.handle, "nvmlDeviceGetHandleByIndex_v2");
  symbols.Require(table.name, "nvmlDeviceGetName");
  symbols.Require(table.uuid, "nvmlDeviceGetUUID");
  symbols.Require(table.driver, "nvmlSystemGetDriverVersion");
  symbols.Require(table.capability, "nvmlDeviceGetCudaComputeCapability");
  symbols.Require(table.memory, "nvmlDeviceGetMemoryInfo");
  if (const char* missing = symbols.missing(); missing != nullptr)
    return Err(ErrorCode::kUnavailable, "{} has no {}: the driver is too old", library, missing);
  StateTable& state = nvml->state_;
  symbols.Find(state.clock, "nvmlDeviceGetClockInfo");
  symbols.Find(state.max_clock, "nvmlDeviceGetMaxClockInfo");
  symbols.Find(state.temperature, "nvmlDeviceGetTemperature");
  symbols.Find(state.power, "nvmlDeviceGetPowerUsage");
  symbols.Find(state.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  symbols.Find(state.mig, "nvmlDeviceGetMigMode");
  symbols.Find(state.ecc, "nvmlDeviceGetEccMode");
  symbols.Find(state.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  symbols.Find(state.device_number, "nvmlDeviceGetMinorNumber");
  ASSAY_RETURN_IF_ERROR(nvml->Check(table.init(), "nvmlInit"));
  nvml->is_initialised_ = true;
  return nvml;
}

Result<unsigned> Nvml::Count() const {
  unsigned count = 0;
  ASSAY_RETURN_IF_ERROR(Check(table_.count(&count), "nvmlDeviceGetCount"));
  return count;
}

Result<void*> Nvml::DeviceAt(unsigned index) const {
  void* device = nullptr;
  ASSAY_RETURN_IF_ERROR(Check(table_.handle(index, &device), "nvmlDeviceGetHandleByIndex"));
  return device;
}

Result<std::string> Nvml::Uuid(void* device) const {
  char text[128] = {};
  ASSAY_RETURN_IF_ERROR(Check(table_.uuid(device, text, sizeof text), "nvmlDeviceGetUUID"));
  return std::string(text);
}

GpuState ReadState(const StateTable& table, void* device) {
  GpuState state;
  unsigned value = 0;
  unsigned pending = 0;
  if (table.clock != nullptr && table.clock(device, kSmClock, &value) == 0)
    state.sm_clock_mhz = value;
  if (table.max_clock != nullptr && table.max_clock(device, kSmClock, &value) == 0)
    state.max_sm_clock_mhz = value;
  if (table.temperature != nullptr && table.temperature(device, kGpuSensor, &value) == 0)
    state.temperature_celsius = value;
  if (table.power != nullptr && table.power(device, &value) == 0) state.power_milliwatts = value;
  if (unsigned long long bits = 0; table.throttle != nullptr && table.throttle(device, &bits) == 0)
    state.throttle_reasons = bits;
  if (table.mig != nullptr && table.mig(device, &value, &pending) == 0) state.mig = value != 0;
  int current = 0;
  int next = 0;
  if (table.ecc != nullptr && table.ecc(device, &current, &next) == 0) state.ecc = current != 0;
  unsigned count = 0;
  if (table.processes != nullptr) {
    const int code = table.processes(device, &count, nullptr);
    if (code == 0 || code == kInsufficientSize) state.processes = count;
  }
  return state;
}

}  // namespace

std::vector<std::string> SlowdownReasons(uint64_t throttle_reasons) {
  struct {
    uint64_t bit;
    const char* name;
  } constexpr kReasons[] = {{0x4, "power cap"},
                            {0x8, "hardware slowdown"},
                            {0x20, "thermal"},
                            {0x40, "hardware thermal"},
                            {0x80, "power brake"}};
  std::vector<std::string> names;
  for (const auto& reason : kReasons)
    if ((throttle_reasons & reason.bit) != 0) names.emplace_back(reason.name);
  return names;
}

bool DeviceClock::Disturbed() const {
  constexpr uint64_t kPowerCap = 0x4;
  return !SlowdownReasons(throttle_reasons & ~kPowerCap).empty();
}

class ClockGauge::Reader {
 public:
  Reader(std::unique_ptr<Nvml> nvml, void* device) : nvml_(std::move(nvml)), device_(device) {}

  /// Nothing where the library does not tell.
  [[nodiscard]] DeviceClock Read() const {
    DeviceClock clock;
    unsigned mhz = 0;
    unsigned long long reasons = 0;
    const StateTable& table = nvml_->state();
    if (table.clock(device_, kSmClock, &mhz) == 0) clock.sm_mhz = mhz;
    if (table.throttle(device_, &reasons) == 0) clock.throttle_reasons = reasons;
    return clock;
  }

  [[nodiscard]] uint64_t MemoryUsed() const {
    Memory memory{};
    return nvml_->table().memory(device_, &memory) == 0 ? memory.used : 0;
  }

 private:
  const std::unique_ptr<Nvml> nvml_;
  void* const device_;
};

ClockGauge::ClockGauge(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
ClockGauge::~ClockGauge() = default;

DeviceClock ClockGauge::Read() const { return reader_->Read(); }
uint64_t ClockGauge::MemoryUsed() const { return reader_->MemoryUsed(); }

Result<std::unique_ptr<ClockGauge>> ClockGauge::Open(const std::string& uuid,
                                                     const std::string& library) {
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Nvml> nvml, Nvml::Open(library));
  if (nvml->state().clock == nullptr || nvml->state().throttle == nullptr)
    return Err(ErrorCode::kUnavailable, "{} does not tell a card's clock", library);
  ASSAY_ASSIGN_OR_RETURN(const unsigned count, nvml->Count());
  for (unsigned i = 0; i < count; ++i) {
    ASSAY_ASSIGN_OR_RETURN(void* const device, nvml->DeviceAt(i));
    ASSAY_ASSIGN_OR_RETURN(const std::string found, nvml->Uuid(device));
    if (found == uuid)
      return std::unique_ptr<ClockGauge>(
          new ClockGauge(std::make_unique<Reader>(std::move(nvml), device)));
  }
  return Err(ErrorCode::kNotFound, "no GPU {} here", uuid);
}

std::vector<GpuInfo> VisibleGpus(const std::vector<GpuInfo>& gpus, const char* visible) {
  if (visible == nullptr) return gpus;
  std::vector<GpuInfo> chosen;
  for (const std::string_view name : Split(visible, ',')) {
    size_t number = gpus.size();
    const char* const end = name.data() + name.size();
    if (const auto [rest, error] = std::from_chars(name.data(), end, number);
        error != std::errc() || rest != end)
      number = gpus.size();
    const auto named = std::ranges::find_if(gpus, [&](const GpuInfo& gpu) {
      return gpu.index == number || (name.starts_with("GPU-") && gpu.uuid.starts_with(name));
    });
    if (named == gpus.end()) break;
    if (std::ranges::any_of(chosen, [&](const GpuInfo& gpu) { return gpu.uuid == named->uuid; }))
      break;
    chosen.push_back(*named);
    chosen.back().index = static_cast<unsigned>(chosen.size() - 1);
  }
  return chosen;
}

Result<std::vector<GpuInfo>> ListGpus(const std::string& library) {
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<Nvml> nvml, Nvml::Open(library));
  const Table& table = nvml->table();
  ASSAY_ASSIGN_OR_RETURN(const unsigned count, nvml->Count());
  char text[128] = {};
  ASSAY_RETURN_IF_ERROR(nvml->Check(table.driver(text, sizeof text), "nvmlSystemGetDriverVersion"));
  const std::string driver = text;
  std::vector<GpuInfo> gpus;
  for (unsigned i = 0; i < count; ++i) {
    GpuInfo gpu;
    gpu.index = i;
    gpu.driver_version = driver;
    ASSAY_ASSIGN_OR_RETURN(void* const device, nvml->DeviceAt(i));
    ASSAY_RETURN_IF_ERROR(nvml->Check(table.name(device, text, sizeof text), "nvmlDeviceGetName"));
    gpu.name = text;
    ASSAY_ASSIGN_OR_RETURN(gpu.uuid, nvml->Uuid(device));
    ASSAY_RETURN_IF_ERROR(
        nvml->Check(table.capability(device, &gpu.compute_major, &gpu.compute_minor),
                    "nvmlDeviceGetCudaComputeCapability"));
    const auto number = nvml->state().device_number;
    if (unsigned n = 0; number != nullptr && number(device, &n) == 0) gpu.device_number = n;
    Memory memory{};
    ASSAY_RETURN_IF_ERROR(nvml->Check(table.memory(device, &memory), "nvmlDeviceGetMemoryInfo"));
    gpu.memory_total_bytes = memory.total;
    gpu.memory_used_bytes = memory.used;
    gpu.state = ReadState(nvml->state(), device);
    gpus.push_back(std::move(gpu));
  }
  return VisibleGpus(gpus, std::getenv("CUDA_VISIBLE_DEVICES"));
}

Result<std::optional<GpuInfo>> FindGpu(const std::string& device, const std::string& library) {
  const std::string_view word = device;
  if (word == "cpu") return std::optional<GpuInfo>();
  size_t index = 0;
  bool fits = word == "auto" || word == "cuda";
  if (word.starts_with("cuda:")) {
    const char* const end = word.data() + word.size();
    const std::from_chars_result read = std::from_chars(word.data() + 5, end, index);
    fits = read.ec == std::errc() && read.ptr == end;
  }
  if (!fits)
    return Err(ErrorCode::kInvalid, "'{}' is no device: use auto, cpu, cuda or cuda:N", device);
  const Result<std::vector<GpuInfo>> gpus = ListGpus(library);
  if (word == "auto" && (!gpus.ok() || gpus->empty())) return std::optional<GpuInfo>();
  if (!gpus.ok())
    return Err(ErrorCode::kUnavailable, "no GPU can be used: {}. `assay doctor` says more.",
               gpus.error().message);
  if (index >= gpus->size())
    return Err(
        ErrorCode::kNotFound, "there is no {}: {} GPU(s) can be seen here{}", device, gpus->size(),
        std::getenv("CUDA_VISIBLE_DEVICES") != nullptr ? " (CUDA_VISIBLE_DEVICES is set)" : "");
  return std::optional((*gpus)[index]);
}

}  // namespace assay
