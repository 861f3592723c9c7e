#include "worker/candidate_sandbox.h"

#include <algorithm>
#include <filesystem>

#include "base/resource.h"

namespace assay {

namespace fs = std::filesystem;

std::vector<std::string> GpuDeviceFiles(const std::string& dev, std::optional<unsigned> own) {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<std::string> found;
  std::vector<std::string> others;
  bool has_own = false;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(dev, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix) || entry.is_directory(ignored)) continue;
    const std::string number = name.substr(kPrefix.size());
    const bool card =
        !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
    const bool is_own = card && own && number == std::to_string(*own);
    has_own = has_own || is_own;
    (card && own && !is_own ? others : found).push_back(entry.path());
  }
  // A container may give its one card another number than the driver does.
  if (!has_own && others.size() == 1) found.push_back(others.front());
  return found;
}

SandboxSpec CandidateSandbox(const json::object& environment, const GpuInfo* gpu) {
  SandboxSpec spec;
  spec.read_only = {"/usr",
                    "/bin",
                    "/sbin",
                    "/lib",
                    "/lib64",
                    "/lib32",
                    "/etc/alternatives",
                    "/etc/ld.so.conf",
                    "/etc/ld.so.conf.d",
                    "/opt"};
  for (const json::value& path : GetArray(environment, "paths"))
    if (path.is_string()) spec.read_only.emplace_back(path.get_string());
  if (const std::string cuda_home = GetString(environment, "cuda_home"); !cuda_home.empty())
    spec.read_only.push_back(cuda_home);
  if (Result<std::string> python = FindResource("python"); python.ok())
    spec.read_only.push_back(*python);
  if (gpu != nullptr) {
    spec.read_only.emplace_back("/sys");
    spec.devices = GpuDeviceFiles("/dev", gpu->device_number);
  }
  std::erase_if(spec.read_only, [](const std::string& path) {
    return path == "/" || path.empty() || path[0] != '/';
  });
  std::sort(spec.read_only.begin(), spec.read_only.end());
  spec.read_only.erase(std::unique(spec.read_only.begin(), spec.read_only.end()),
                       spec.read_only.end());
  spec.max_file_bytes = spec.work_bytes;
  return spec;
}

}  // namespace assay
