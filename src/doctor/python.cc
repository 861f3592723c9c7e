#include "base/process.h"
#include "base/strings.h"
#include "doctor/doctor.h"

namespace assay {
namespace {

const Seconds kPythonTimeout{30};

/// Asks for metadata only: importing torch takes seconds. The build's CUDA version stands in a
/// small file of the package, which imports nothing heavy.
constexpr const char* kQuestion = R"python(
import glob, importlib.metadata, importlib.util, json, os, sys, sysconfig
answer = {"version": "%d.%d.%d" % sys.version_info[:3], "prefix": sys.prefix, "packages": {}}
for name in ("torch", "triton", "numpy", "pyarrow"):
    try:
        answer["packages"][name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
try:
    spec = importlib.util.find_spec("torch")
    scope = {}
    with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as file:
        exec(file.read(), scope)
    answer["torch_cuda"] = scope.get("cuda") or ""
except Exception:
    pass
places = [sysconfig.get_path("purelib") + "/nvidia/*/lib", sysconfig.get_path("platlib") + "/nvidia/*/lib",
          os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/extras/CUPTI/lib64",
          os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64", "/usr/lib/x86_64-linux-gnu"]
found = [path for place in places for path in sorted(glob.glob(place + "/libcupti.so*"))]
answer["cupti"] = found[0] if found else ""
print("assay:" + json.dumps(answer))
)python";

Result<json::object> Ask(const std::string& python) {
  ASSAY_ASSIGN_OR_RETURN(const std::string path, FindProgram(python));
  ASSAY_ASSIGN_OR_RETURN(const CommandOutput output,
                         RunCommand({path, "-I", "-c", kQuestion}, kPythonTimeout, 1u << 20));
  if (!output.status.success())
    return Err(ErrorCode::kUnavailable, "'{}': {} {}", path, output.status.ToString(),
               CleanText(TruncateMiddle(Trim(output.err), 200)));
  // Start-up files of an environment may print before us.
  const size_t at = output.out.rfind("assay:");
  if (at == std::string::npos)
    return Err(ErrorCode::kUnavailable, "'{}' is not a Python interpreter", path);
  return ParseJsonObject(Trim(std::string_view(output.out).substr(at + 6)));
}

/// At least 3.10, the oldest that the candidate's native part and the client support.
bool IsSupported(std::string_view version) {
  const std::vector<std::string_view> parts = Split(version, '.');
  if (parts.size() < 2) return false;
  const int minor = std::atoi(std::string(parts[1]).c_str());
  return parts[0] == "3" && minor >= 10;
}

Check CheckPackage(const json::object& packages, const std::string& python, const char* name,
                   Check::State without, std::string_view use) {
  const std::string version = GetString(packages, name);
  if (!version.empty()) return {name, Check::kOk, version, ""};
  return {name, without, fmt::format("not installed; {}", use),
          fmt::format("{} -m pip install {}", python, name)};
}

}  // namespace

std::vector<Check> CheckPython(const std::string& python) {
  const Result<json::object> answer = Ask(python);
  if (!answer.ok())
    return {{"python", Check::kMissing, answer.error().message,
             "apt-get install python3 python3-venv  # or name another interpreter with --python"}};
  const std::string version = GetString(*answer, "version");
  const bool supported = IsSupported(version);
  std::vector<Check> checks;
  checks.push_back({"python", supported ? Check::kOk : Check::kMissing,
                    fmt::format("{} ({})", version, GetString(*answer, "prefix")),
                    supported ? "" : "apt-get install python3.12  # 3.10 is the oldest supported"});

  const json::object& packages = GetObject(*answer, "packages");
  Check torch = CheckPackage(packages, python, "torch", Check::kMissing, "nothing can be judged");
  if (torch.state == Check::kOk) {
    const std::string cuda = GetString(*answer, "torch_cuda");
    torch.detail += cuda.empty() ? ", built without CUDA" : ", built for CUDA " + cuda;
  }
  checks.push_back(std::move(torch));
  checks.push_back(
      CheckPackage(packages, python, "triton", Check::kWarn, "Triton submissions cannot run"));
  checks.push_back(CheckPackage(packages, python, "numpy", Check::kWarn, "some tasks use it"));
  checks.push_back(
      CheckPackage(packages, python, "pyarrow", Check::kWarn, "Parquet task sets cannot be read"));
  const std::string cupti = GetString(*answer, "cupti");
  if (cupti.empty())
    checks.push_back({"cupti", Check::kWarn, "no libcupti.so: no kernel-level profile or coverage",
                      fmt::format("{} -m pip install nvidia-cuda-cupti", python)});
  else
    checks.push_back({"cupti", Check::kOk, cupti, ""});
  return checks;
}

}  // namespace assay
