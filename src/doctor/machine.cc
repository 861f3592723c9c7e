#include <dlfcn.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/process.h"
#include "base/strings.h"
#include "doctor/doctor.h"
#include "gpu/nvml.h"
#include "tools/find.h"

namespace assay {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kWantedMemoryGiB = 8;  // torch imported several times, and a compiler beside it
constexpr double kWantedShmGiB = 1;     // shared inputs and outputs of one large task
constexpr double kWantedTmpGiB = 5;     // one build folder of a CUDA extension per submission
const Seconds kToolTimeout{10};

/// The value of `key` in a file of `key<separator>value` lines, without quotes.
std::string Field(const std::string& path, std::string_view key, char separator) {
  const Result<std::string> text = ReadFile(path, 1u << 20);
  if (!text.ok()) return "";
  for (const std::string_view line : Split(*text, '\n')) {
    const size_t at = line.find(separator);
    if (at == std::string_view::npos || Trim(line.substr(0, at)) != key) continue;
    std::string_view value = Trim(line.substr(at + 1));
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return "";
}

double MemoryGiB(std::string_view key) {
  return std::strtod(Field("/proc/meminfo", key, ':').c_str(), nullptr) * 1024 / kGiB;
}

Check CheckSpace(const std::string& path, double wanted, std::string fix) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0)
    return {path, Check::kMissing, "does not exist", "mkdir -p " + path};
  const double free =
      static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize) / kGiB;
  const bool enough = free >= wanted;
  return {path, enough ? Check::kOk : Check::kWarn, fmt::format("{:.1f} GiB free", free),
          enough ? "" : std::move(fix)};
}

std::string DescribeGpu(const GpuInfo& gpu) {
  std::string text =
      fmt::format("{}, compute capability {}.{}, {:.0f} of {:.0f} GiB free, driver {}", gpu.name,
                  gpu.compute_major, gpu.compute_minor,
                  static_cast<double>(gpu.memory_total_bytes - gpu.memory_used_bytes) / kGiB,
                  static_cast<double>(gpu.memory_total_bytes) / kGiB, gpu.driver_version);
  const GpuState& state = gpu.state;
  if (state.sm_clock_mhz && state.max_sm_clock_mhz)
    text += fmt::format(", SM clock {} of {} MHz", *state.sm_clock_mhz, *state.max_sm_clock_mhz);
  if (state.temperature_celsius) text += fmt::format(", {} C", *state.temperature_celsius);
  if (state.power_milliwatts) text += fmt::format(", {:.0f} W", *state.power_milliwatts / 1000.0);
  if (state.ecc) text += *state.ecc ? ", ECC on" : ", ECC off";
  return text + ", " + gpu.uuid;
}

Check CheckGpu(const GpuInfo& gpu) {
  Check check{fmt::format("gpu {}", gpu.index), Check::kOk, DescribeGpu(gpu), ""};
  const auto warn = [&](const std::string& detail, const char* fix) {
    check.state = Check::kWarn;
    check.detail += "; " + detail;
    check.fix = fix;
  };
  // Triton and current torch builds begin at 7.0; below, a kernel may still be CUDA.
  if (gpu.compute_major < 7)
    warn("too old for Triton", "use a GPU of compute capability 7.0 or more");
  if (gpu.state.mig.value_or(false))
    warn("MIG is on: an instance's bandwidth and peaks differ from the card's",
         "judge on a card without MIG, or expect roofline figures to be off");
  if (gpu.state.processes.value_or(0) > 0)
    warn(fmt::format("{} other processes use it: times will be noisy", *gpu.state.processes),
         "nvidia-smi --query-compute-apps=pid,name --format=csv  # and end them");
  if (gpu.state.throttle_reasons) {
    const std::vector<std::string> reasons = SlowdownReasons(*gpu.state.throttle_reasons);
    if (!reasons.empty())
      warn("slowed down: " + Join(reasons, ", "), "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE");
  }
  return check;
}

Check CheckCudaLibrary(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return {"libcuda", Check::kMissing, library + " cannot be opened",
            "apt-get install nvidia-driver-580  # or: docker run --gpus all"};
  int (*get_version)(int*) = nullptr;
  void* symbol = ::dlsym(handle, "cuDriverGetVersion");
  std::memcpy(&get_version, &symbol, sizeof symbol);
  int version = 0;
  const bool told = get_version != nullptr && get_version(&version) == 0;
  ::dlclose(handle);
  if (!told)
    return {"libcuda", Check::kMissing, library + " is not a CUDA driver",
            "apt-get install --reinstall nvidia-driver-580"};
  return {"libcuda", Check::kOk, fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10),
          ""};
}

/// The line of a program's output that names its version, or why there is none.
Result<std::string> VersionOf(const std::string& program, std::string_view marker) {
  ASSAY_ASSIGN_OR_RETURN(const std::string path, FindProgram(program));
  ASSAY_ASSIGN_OR_RETURN(const CommandOutput output, RunCommand({path, "--version"}, kToolTimeout));
  if (!output.status.success())
    return Err(ErrorCode::kUnavailable, "{}: {}", path, output.status.ToString());
  for (const std::string_view line : Split(output.out, '\n'))
    if (line.find(marker) != std::string_view::npos)
      return fmt::format("{} ({})", CleanText(Trim(line)), path);
  return Err(ErrorCode::kUnavailable, "{} does not tell its version", path);
}

Check CheckTool(const char* name, const std::vector<std::string>& programs, std::string_view marker,
                Check::State without, const char* fix) {
  std::string reason;
  for (const std::string& program : programs) {
    const Result<std::string> version = VersionOf(program, marker);
    if (version.ok()) return {name, Check::kOk, *version, ""};
    if (reason.empty()) reason = version.error().message;
  }
  return {name, without, reason, fix};
}

}  // namespace

std::vector<Check> CheckSystem() {
  std::vector<Check> checks;
  utsname kernel{};
  ::uname(&kernel);
  const std::string distribution = Field("/etc/os-release", "PRETTY_NAME", '=');
  int major = 0;
  int minor = 0;
  const char* end = kernel.release + std::strlen(kernel.release);
  const auto parsed = std::from_chars(kernel.release, end, major);
  if (parsed.ptr != end) std::from_chars(parsed.ptr + 1, end, minor);
  const bool recent = major > 5 || (major == 5 && minor >= 13);
  checks.push_back({"system", recent ? Check::kOk : Check::kWarn,
                    fmt::format("{}, Linux {} {}", distribution, kernel.release, kernel.machine),
                    recent ? "" : "use Linux 5.13 or newer: Landlock, pidfd and cgroup.kill"});

  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  checks.push_back(
      {"cores", cores >= 2 ? Check::kOk : Check::kWarn, std::to_string(cores),
       cores >= 2 ? "" : "give the machine at least 2: one is for the worker's clock"});

  const double available = MemoryGiB("MemAvailable");
  const bool enough = available >= kWantedMemoryGiB;
  checks.push_back(
      {"memory", enough ? Check::kOk : Check::kWarn,
       fmt::format("{:.1f} of {:.1f} GiB available", available, MemoryGiB("MemTotal")),
       enough ? "" : fmt::format("free memory: {:.0f} GiB are wanted", kWantedMemoryGiB)});
  checks.push_back(
      CheckSpace("/dev/shm", kWantedShmGiB,
                 "mount -o remount,size=8g /dev/shm  # in Docker: docker run --shm-size=8g"));
  const char* tmp = std::getenv("TMPDIR");
  checks.push_back(CheckSpace(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp", kWantedTmpGiB,
                              "export TMPDIR=<a folder on a disk with 5 GiB free>"));
  return checks;
}

std::vector<Check> CheckGpus(const ExamineOptions& options) {
  std::vector<Check> checks;
  const Result<std::vector<GpuInfo>> gpus = ListGpus(options.nvml);
  if (!gpus.ok())
    checks.push_back({"gpu", Check::kWarn, gpus.error().message + "; the CPU device still works",
                      "apt-get install nvidia-driver-580  # or: docker run --gpus all"});
  else if (gpus->empty())
    checks.push_back(
        {"gpu", Check::kWarn, "the driver sees no GPU; the CPU device still works",
         "nvidia-smi -L  # and check CUDA_VISIBLE_DEVICES and the container's --gpus all"});
  else
    for (const GpuInfo& gpu : *gpus) checks.push_back(CheckGpu(gpu));
  Check cuda = CheckCudaLibrary(options.cuda);
  // Without a card nothing is lost with it.
  if (!gpus.ok() && cuda.state == Check::kMissing) cuda.state = Check::kWarn;
  checks.push_back(std::move(cuda));
  return checks;
}

std::vector<Check> CheckTools() {
  const char* home = std::getenv("CUDA_HOME");
  const std::string toolkit = home != nullptr && *home != '\0' ? home : "/usr/local/cuda";
  const char* compiler = std::getenv("CXX");
  std::vector<std::string> compilers;
  if (compiler != nullptr && *compiler != '\0') compilers.emplace_back(compiler);
  compilers.emplace_back("g++");
  compilers.emplace_back("c++");
  // Only submissions with C++ or CUDA extensions need these.
  return {CheckTool("nvcc", {"nvcc", toolkit + "/bin/nvcc"}, "release", Check::kWarn,
                    "apt-get install cuda-nvcc-13-0  # then: export CUDA_HOME=/usr/local/cuda"),
          CheckTool("g++", compilers, ".", Check::kWarn, "apt-get install g++"),
          CheckTool("ninja", {"ninja"}, ".", Check::kWarn, "apt-get install ninja-build")};
}

std::vector<Check> CheckProfilers(const std::string& parameters) {
  std::vector<Check> checks;
  for (const auto& [tool, marker] :
       {std::pair(kNcu, "Version"), std::pair(kComputeSanitizer, "Version")}) {
    const Result<std::string> path = FindTool(tool, "");
    const Result<std::string> version = path.ok() ? VersionOf(*path, marker) : path.error();
    // Only --ncu and --sanitize need these.
    checks.push_back({tool.program, version.ok() ? Check::kOk : Check::kWarn,
                      version.ok() ? *version : version.error().message,
                      version.ok() ? "" : tool.fix});
  }
  if (Field(parameters, "RmProfilingAdminOnly", ':') == "1") {
    Check& ncu = checks.front();
    ncu.state = Check::kWarn;
    ncu.detail += "; the driver shows performance counters to administrators only";
    ncu.fix =
        "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 > /etc/modprobe.d/nvidia-perf"
        ".conf  # then reload the driver";
  }
  return checks;
}

}  // namespace assay
