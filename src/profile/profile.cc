#include "profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/strings.h"

namespace assay {
namespace {

constexpr double kMostUs = 1e9;  ///< a quarter of an hour: longer than any deadline
constexpr int64_t kMostCount = 1 << 20;
constexpr int64_t kMostMemory = 1 << 20;  ///< bytes of a block's shared memory; threads of a block
constexpr int64_t kMostGrid = (int64_t{1} << 31) - 1;
constexpr size_t kMaxName = 240;
constexpr double kRounding = 1.001;  ///< sums were added up in another order

/// As the rest of a verdict: six significant digits.
double Rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

Error Wrong(std::string_view what) {
  return Err(ErrorCode::kProtocol, "the profile's '{}' is not what a device gives", what);
}

Result<double> Time(const json::object& object, const char* name) {
  const double time = GetDouble(object, name, -1);
  if (time >= 0 && time <= kMostUs) return time;  // Not NaN.
  return Wrong(name);
}

Result<int64_t> Count(const json::object& object, const char* name, int64_t most = kMostCount) {
  const int64_t count = GetInt(object, name, -1);
  if (count >= 0 && count <= most) return count;
  return Wrong(name);
}

Status Shape(const json::object& object, const char* name, int64_t most,
             std::array<int64_t, 3>* shape) {
  const json::array& given = GetArray(object, name);
  if (given.size() != shape->size()) return Wrong(name);
  for (size_t i = 0; i < shape->size(); ++i) {
    if (!given[i].is_int64() || given[i].get_int64() < 0 || given[i].get_int64() > most)
      return Wrong(name);
    (*shape)[i] = given[i].get_int64();
  }
  return {};
}

Result<ProfiledKernel> ReadKernel(const json::value& value) {
  if (!value.is_object()) return Wrong("kernels");
  const json::object& object = value.get_object();
  ProfiledKernel kernel;
  std::string name = CleanText(GetString(object, "name"));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  kernel.name = TruncateMiddle(name, kMaxName);
  kernel.own = GetBool(object, "own");
  ASSAY_ASSIGN_OR_RETURN(kernel.calls, Count(object, "calls"));
  ASSAY_ASSIGN_OR_RETURN(kernel.us, Time(object, "us"));
  ASSAY_RETURN_IF_ERROR(Shape(object, "grid", kMostGrid, &kernel.grid));
  ASSAY_RETURN_IF_ERROR(Shape(object, "block", kMostMemory, &kernel.block));
  ASSAY_ASSIGN_OR_RETURN(kernel.registers, Count(object, "registers", 1024));
  ASSAY_ASSIGN_OR_RETURN(kernel.static_shared, Count(object, "static_shared", kMostMemory));
  ASSAY_ASSIGN_OR_RETURN(kernel.dynamic_shared, Count(object, "dynamic_shared", kMostMemory));
  ASSAY_ASSIGN_OR_RETURN(kernel.stream, Count(object, "stream", kMostGrid));
  return kernel;
}

double TotalUs(const Profile& profile) {
  return profile.own_us + profile.library_us + profile.unknown_us + profile.copy_us;
}

/// The parts must fit what they are parts of.
Status CheckSums(const Profile& profile) {
  double own = 0;
  double others = 0;
  int64_t launches = 0;
  for (const ProfiledKernel& kernel : profile.kernels) {
    (kernel.own ? own : others) += kernel.us;
    launches += kernel.calls;
  }
  const auto exceeds = [](double part, double whole) { return part > whole * kRounding + 1e-3; };
  if (exceeds(own, profile.own_us) || exceeds(others, profile.library_us + profile.unknown_us) ||
      launches > profile.own_launches + profile.library_launches + profile.unknown_launches)
    return Wrong("kernels");
  if (exceeds(profile.busy_us, profile.span_us)) return Wrong("busy_us");
  if ((profile.own_us > 0 && profile.own_launches == 0) ||
      (profile.own_launches > 0) != (profile.own_kernels > 0) ||
      profile.own_kernels > profile.own_launches)
    return Wrong("own_launches");
  if (profile.other_kernels > profile.library_launches + profile.unknown_launches + profile.copies)
    return Wrong("other_kernels");
  return {};
}

double Share(double part, double whole) { return std::clamp(part / whole, 0.0, 1.0); }

json::value OrNull(const std::optional<double>& figure) {
  return figure ? json::value(Rounded(*figure)) : json::value(nullptr);
}

std::optional<double> Over(double part, double whole) {
  return part > 0 && whole > 0 ? std::optional(part / whole) : std::nullopt;
}

json::array KernelsJson(const std::vector<ProfiledKernel>& kernels) {
  json::array out;
  for (const ProfiledKernel& kernel : kernels)
    out.push_back({{"name", kernel.name},
                   {"own", kernel.own},
                   {"calls", kernel.calls},
                   {"us", Rounded(kernel.us)},
                   {"grid", json::array(kernel.grid.begin(), kernel.grid.end())},
                   {"block", json::array(kernel.block.begin(), kernel.block.end())},
                   {"registers", kernel.registers},
                   {"static_shared", kernel.static_shared},
                   {"dynamic_shared", kernel.dynamic_shared},
                   {"stream", kernel.stream}});
  return out;
}

}  // namespace

Result<Profile> ReadProfile(const json::object& report) {
  Profile profile;
  ASSAY_ASSIGN_OR_RETURN(profile.calls, Count(report, "calls"));
  if (profile.calls == 0) return Wrong("calls");
  const std::pair<const char*, double*> times[] = {
      {"own_us", &profile.own_us},   {"library_us", &profile.library_us},
      {"copy_us", &profile.copy_us}, {"unknown_us", &profile.unknown_us},
      {"busy_us", &profile.busy_us}, {"span_us", &profile.span_us}};
  for (const auto& [name, time] : times) {
    ASSAY_ASSIGN_OR_RETURN(*time, Time(report, name));
  }
  const std::pair<const char*, int64_t*> counts[] = {
      {"own_launches", &profile.own_launches},
      {"library_launches", &profile.library_launches},
      {"unknown_launches", &profile.unknown_launches},
      {"copies", &profile.copies},
      {"own_kernels", &profile.own_kernels},
      {"other_kernels", &profile.other_kernels},
      {"dropped", &profile.dropped},
      {"left_out", &profile.left_out}};
  for (const auto& [name, count] : counts) {
    ASSAY_ASSIGN_OR_RETURN(*count, Count(report, name));
  }
  const json::value* lines = report.if_contains("kernels");
  if (lines == nullptr || !lines->is_array()) return Wrong("kernels");
  const json::array& kernels = lines->get_array();
  if (kernels.size() > kMaxProfiledKernels) return Wrong("kernels");
  for (const json::value& kernel : kernels) {
    ASSAY_ASSIGN_OR_RETURN(ProfiledKernel read, ReadKernel(kernel));
    profile.kernels.push_back(std::move(read));
  }
  ASSAY_RETURN_IF_ERROR(CheckSums(profile));
  return profile;
}

std::optional<double> CoverageTime(const Profile& profile) {
  const double total = TotalUs(profile);
  return total > 0 ? std::optional(Share(profile.own_us, total)) : std::nullopt;
}

std::optional<double> CoverageCount(const Profile& profile) {
  const int64_t total = profile.own_kernels + profile.other_kernels;
  if (total <= 0) return std::nullopt;
  return Share(static_cast<double>(profile.own_kernels), static_cast<double>(total));
}

json::object ToJson(const Profile& profile, const ProfileScale& scale) {
  const auto calls = static_cast<double>(profile.calls);
  const double busy_us = profile.busy_us / calls;
  const std::optional<double> gbs = Over(scale.required_bytes / 1e3, busy_us);
  const std::optional<double> tflops = Over(scale.required_flops / 1e6, busy_us);
  const auto of_peak = [](const std::optional<double>& rate, double peak) {
    return rate && peak > 0 ? std::optional(*rate / peak) : std::nullopt;
  };
  return {{"coverage_time", OrNull(CoverageTime(profile))},
          {"coverage_count", OrNull(CoverageCount(profile))},
          {"custom_kernels", profile.own_kernels},
          {"total_kernels", profile.own_kernels + profile.other_kernels},
          {"custom_us", Rounded(profile.own_us / calls)},
          {"total_us", Rounded(TotalUs(profile) / calls)},
          {"library_us", Rounded(profile.library_us / calls)},
          {"unknown_us", Rounded(profile.unknown_us / calls)},
          {"copy_us", Rounded(profile.copy_us / calls)},
          {"busy_us", Rounded(busy_us)},
          {"host_gap_us", Rounded(std::max(profile.span_us - profile.busy_us, 0.0) / calls)},
          {"bandwidth_gbs", OrNull(gbs)},
          {"bandwidth_fraction", OrNull(of_peak(gbs, scale.peak_gbs))},
          {"tflops", OrNull(tflops)},
          {"tflops_fraction", OrNull(of_peak(tflops, scale.peak_tflops))},
          {"calls", profile.calls},
          {"launches", profile.own_launches + profile.library_launches + profile.unknown_launches},
          {"dropped", profile.dropped},
          {"left_out", profile.left_out},
          {"kernels", KernelsJson(profile.kernels)},
          {"note", nullptr}};
}

json::object NoProfileJson(std::string_view reason) {
  json::object out = ToJson(Profile{.calls = 1}, {});
  for (auto& [key, value] : out) {
    if (value.is_array() || key == "note") continue;
    value = nullptr;
  }
  out["note"] = reason;
  return out;
}

std::string ProfileText(const Profile& profile) {
  const std::optional<double> share = CoverageTime(profile);
  if (!share) return "the device did nothing";
  const auto calls = static_cast<double>(profile.calls);
  std::string text = fmt::format(
      "own kernels take {:.3g} % of the device's {:.4g} us a call ({} own, {} others)",
      100 * *share, TotalUs(profile) / calls, profile.own_kernels, profile.other_kernels);
  const double gap_us = (profile.span_us - profile.busy_us) / calls;
  if (profile.span_us > 0 && gap_us > 0)
    text += fmt::format("; it waits {:.3g} us a call for the host", gap_us);
  return text;
}

}  // namespace assay
