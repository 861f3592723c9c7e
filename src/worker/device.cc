#include "worker/device.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "gpu/nvml.h"
#include "verdict/verdict.h"
#include "worker/candidate_sandbox.h"

namespace assay {
namespace {

Result<RooflineTarget> FindTarget(const std::optional<GpuInfo>& gpu, Judge* judge) {
  if (!gpu) return TargetOf({}, "cpu", CalibrationFolder());
  ASSAY_ASSIGN_OR_RETURN(DeviceFacts facts, judge->Facts());
  facts.clock_ghz = std::max(facts.clock_ghz, gpu->state.max_sm_clock_mhz.value_or(0) / 1e3);
  return TargetOf(facts, gpu->uuid, CalibrationFolder());
}

uint64_t HalfOfMemory() {
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

}  // namespace

Result<std::unique_ptr<Device>> Device::Open(const DeviceOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::optional<GpuInfo> gpu, FindGpu(options.device));
  std::unique_ptr<Device> device(new Device);
  device->cuda_ = gpu.has_value();
  device->size_ = gpu ? "gpu" : "cpu";
  device->limits_ = options.limits;
  device->overrides_ = options.overrides;
  if (device->limits_.memory_bytes == 0) device->limits_.memory_bytes = HalfOfMemory();
  // A quarter of a card is left to contexts (0.5 GB a process) and to what torch caches.
  device->memory_bytes_ = gpu ? gpu->memory_total_bytes / 100 * 75 : HalfOfMemory();
  ASSAY_ASSIGN_OR_RETURN(device->drain_, OutputDrain::Start());

  ZygoteOptions zygote;
  zygote.python = options.python;
  zygote.cuda = device->cuda_;
  zygote.threads = device->cuda_ ? 4 : static_cast<int>(std::thread::hardware_concurrency());
  if (gpu) {
    zygote.gpu_uuid = gpu->uuid;
    zygote.capability = gpu->compute_major * 10 + gpu->compute_minor;
  }
  const TimePoint start = Clock::now();
  ASSAY_ASSIGN_OR_RETURN(device->zygote_,
                         Zygote::Start(zygote, device->limits_, device->drain_.get()));
  LogDebug("zygote ready after {:.0f} ms", MillisecondsSince(start));
  device->judge_ = std::make_unique<Judge>(device->zygote_.get(), device->limits_);
  ASSAY_RETURN_IF_ERROR(device->judge_->EnsureRunning());
  LogDebug("judge ready after {:.0f} ms", MillisecondsSince(start));
  Result<RooflineTarget> roofline = FindTarget(gpu, device->judge_.get());
  if (roofline.ok())
    device->roofline_ = *std::move(roofline);
  else
    LogInfo("verdicts will have no roofline: {}", roofline.error().message);
  const Result<TimerReport> timer = LoadTimerReport(TimerFolder(), gpu ? gpu->uuid : "cpu");
  if (timer.ok() && timer->protocol == kProtocolVersion) device->timer_ = *timer;
  device->baselines_ = std::make_unique<BaselineProcesses>(device->zygote_.get(), device->limits_);
  if (gpu) {
    Result<std::unique_ptr<ClockGauge>> gauge = ClockGauge::Open(gpu->uuid);
    if (gauge.ok())
      device->clock_gauge_ = *std::move(gauge);
    else
      LogInfo("verdicts will not name the card's clock: {}", gauge.error().message);
  }
  device->background_ = std::make_unique<BackgroundSet>();
  device->memory_watch_ = std::make_unique<MemoryWatch>(device->limits_.memory_bytes);

  const json::object& python = device->zygote_->environment();
  device->environment_ = {{"device", gpu ? "cuda" : "cpu"},
                          {"gpu", gpu ? json::value(gpu->name) : json::value(nullptr)},
                          {"gpu_uuid", gpu ? json::value(gpu->uuid) : json::value(nullptr)},
                          {"driver", gpu ? json::value(gpu->driver_version) : json::value(nullptr)},
                          {"torch", GetString(python, "torch")},
                          {"triton", GetString(python, "triton")},
                          {"python", GetString(python, "python")},
                          {"cuda", GetString(python, "cuda")},
                          {"cpus", std::thread::hardware_concurrency()}};
  device->pool_ = std::make_unique<CandidatePool>(
      device->zygote_.get(), &device->lock_, device->background_.get(),
      CandidateSandbox(python, gpu ? &*gpu : nullptr), device->limits_);
  return device;
}

Device::~Device() {
  pool_.reset();
  baselines_.reset();
  reference_.reset();
}

Status Device::EnsureReference(bool default_connections) {
  const int connections = default_connections ? kDefaultConnections : kOneConnection;
  if (reference_ && reference_->Alive() && reference_connections_ == connections) return {};
  ASSAY_ASSIGN_OR_RETURN(reference_, zygote_->Fork(Role::kReference, connections, nullptr));
  reference_connections_ = connections;
  Result<json::object> ready = WaitReady(reference_.get(), DeadlineIn(Seconds(limits_.warm_s)));
  if (ready.ok()) return {};
  reference_.reset();
  return ready.error();
}

}  // namespace assay
