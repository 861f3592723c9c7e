#include "tools/ncu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/strings.h"

namespace assay {
namespace {

constexpr size_t kMaxName = 160;
constexpr size_t kMaxColumns = 4000;
constexpr size_t kMaxRows = size_t{2} * kMaxNcuLaunches;
constexpr size_t kMaxStalls = 3;
constexpr double kLeastStall = 0.05;  ///< of the time: below it a reason explains nothing
constexpr double kMostUs = 1e9;
constexpr double kMostFigure = 1e6;

constexpr std::string_view kDuration = "gpu__time_duration.sum";
constexpr std::string_view kStallPrefix = "smsp__average_warps_issue_stalled_";
constexpr std::string_view kStallSuffix = "_per_issue_active.ratio";

/// A figure and the metrics that give it; the first that is there counts, for names differ between
/// versions and cards.
struct Figure {
  std::optional<double> NcuKernel::*member;
  std::array<std::string_view, 2> metrics;
};

constexpr Figure kFigures[] = {
    {&NcuKernel::compute_pct, {"sm__throughput.avg.pct_of_peak_sustained_elapsed", ""}},
    {&NcuKernel::memory_pct,
     {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
      "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {&NcuKernel::dram_pct,
     {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
      "dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {&NcuKernel::occupancy_pct, {"sm__warps_active.avg.pct_of_peak_sustained_active", ""}},
    {&NcuKernel::occupancy_most, {"sm__maximum_warps_per_active_cycle_pct", ""}},
    {&NcuKernel::registers, {"launch__registers_per_thread", ""}},
};

/// Blocks that an SM can hold as far as this allows.
constexpr std::pair<std::string_view, std::string_view> kLimits[] = {
    {"launch__occupancy_limit_registers", "registers"},
    {"launch__occupancy_limit_shared_mem", "shared memory"},
    {"launch__occupancy_limit_warps", "block size"},
    {"launch__occupancy_limit_blocks", "blocks of an SM"},
    {"launch__occupancy_limit_barriers", "barriers"},
};

/// One line of CSV; nothing if its quotes do not fit.
std::optional<std::vector<std::string>> ReadRow(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      if (cells.size() == kMaxColumns) return std::nullopt;
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return cells;
}

/// "1,024.5", with or without separators of thousands; nothing for "n/a" and what is no figure.
std::optional<double> Number(std::string_view cell, double most) {
  std::string digits;
  for (const char c : Trim(cell))
    if (c != ',') digits += c;
  if (digits.empty()) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(digits.c_str(), &end);
  if (*end != '\0' || !(number >= 0 && number <= most)) return std::nullopt;
  return number;
}

/// The name without parameters and what comes before it: "void f<float>(int*)" is "f<float>".
std::string ShortName(std::string_view text) {
  std::string name = CleanText(text);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (const size_t at = name.find('('); at != std::string::npos && at > 0) name.resize(at);
  if (name.starts_with("void ")) name.erase(0, 5);
  return TruncateMiddle(Trim(name), kMaxName);
}

/// Demanglers disagree on spaces: "f<int, 2>", "f<int,2>".
std::string Spaceless(std::string name) {
  std::erase(name, ' ');
  return name;
}

std::string StallName(std::string_view metric) {
  if (!metric.starts_with(kStallPrefix) || !metric.ends_with(kStallSuffix)) return "";
  std::string name(metric.substr(kStallPrefix.size(),
                                 metric.size() - kStallPrefix.size() - kStallSuffix.size()));
  std::replace(name.begin(), name.end(), '_', ' ');
  // A warp that was selected does not wait.
  return name == "selected" ? "" : name.substr(0, 40);
}

/// What a model can do about it.
std::string_view StallMeaning(std::string_view reason) {
  constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
      {"long scoreboard", "waits for global memory"},
      {"short scoreboard", "waits for shared memory"},
      {"barrier", "waits at barriers"},
      {"lg throttle", "too many global accesses queued"},
      {"mio throttle", "too many shared-memory or special instructions queued"},
      {"math pipe throttle", "the arithmetic units are busy"},
      {"wait", "fixed latency of instructions"},
      {"not selected", "other warps are ready: enough of them"},
      {"no instruction", "waits for instructions"},
      {"no instructions", "waits for instructions"},
      {"gmma", "waits for the tensor cores"},
      {"drain", "waits for stores at the end"},
      {"membar", "waits for memory fences"},
  };
  for (const auto& [name, meaning] : kMeanings)
    if (name == reason) return meaning;
  return "";
}

using Row = std::map<std::string, std::string, std::less<>>;

std::string_view Cell(const Row& row, std::string_view column) {
  const auto found = row.find(column);
  return found == row.end() ? std::string_view() : std::string_view(found->second);
}

/// Sums over the launches of one kernel; a figure counts by the time of its launch.
struct Sums {
  NcuKernel kernel;
  double us = 0;
  std::array<std::pair<double, double>, std::size(kFigures)> figures{};  ///< weighted sum, weight
  std::map<std::string, double> stalls;
};

std::string OccupancyLimit(const Row& row) {
  std::optional<double> least;
  std::string limit;
  for (const auto& [metric, name] : kLimits) {
    const std::optional<double> blocks = Number(Cell(row, metric), kMostFigure);
    if (!blocks || (least && *blocks >= *least)) continue;
    least = blocks;
    limit = name;
  }
  return limit;
}

void AddLaunch(const Row& row, double us, Sums* sums) {
  ++sums->kernel.launches;
  sums->us += us;
  for (size_t i = 0; i < std::size(kFigures); ++i) {
    for (const std::string_view metric : kFigures[i].metrics) {
      const std::optional<double> value = Number(Cell(row, metric), kMostFigure);
      if (metric.empty() || !value) continue;
      sums->figures[i].first += *value * us;
      sums->figures[i].second += us;
      break;
    }
  }
  if (sums->kernel.occupancy_limit.empty()) sums->kernel.occupancy_limit = OccupancyLimit(row);
  for (const auto& [metric, cell] : row) {
    const std::string reason = StallName(metric);
    if (reason.empty()) continue;
    if (const std::optional<double> warps = Number(cell, kMostFigure); warps)
      sums->stalls[reason] += *warps * us;
  }
}

NcuKernel Mean(Sums sums) {
  NcuKernel kernel = std::move(sums.kernel);
  kernel.us = sums.us / static_cast<double>(kernel.launches);
  for (size_t i = 0; i < std::size(kFigures); ++i)
    if (sums.figures[i].second > 0)
      kernel.*kFigures[i].member = sums.figures[i].first / sums.figures[i].second;
  double all = 0;
  for (const auto& [reason, warps] : sums.stalls) all += warps;
  for (const auto& [reason, warps] : sums.stalls)
    if (all > 0 && warps >= kLeastStall * all) kernel.stalls.emplace_back(reason, warps / all);
  std::sort(kernel.stalls.begin(), kernel.stalls.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  if (kernel.stalls.size() > kMaxStalls) kernel.stalls.resize(kMaxStalls);
  return kernel;
}

/// Why ncu printed no table.
Error WhyNothing(std::string_view printed) {
  constexpr auto kCode = ErrorCode::kUnavailable;
  const auto says = [&](std::string_view word) {
    return printed.find(word) != std::string_view::npos;
  };
  if (says("ERR_NVGPUCTRPERM"))
    return Err(kCode,
               "this machine lets only administrators read the GPU's performance counters "
               "(ERR_NVGPUCTRPERM); load its driver with NVreg_RestrictProfilingToAdminUsers=0");
  if (says("==WARNING== No kernels were profiled"))
    return Err(kCode, "no kernel was launched that it could look at");
  for (const std::string_view line : Split(printed, '\n'))
    if (line.starts_with("==ERROR=="))
      return Err(kCode, "ncu: {}", TruncateMiddle(CleanText(Trim(line.substr(9))), 300));
  return Err(kCode, "ncu printed no table of metrics");
}

json::value OrNull(const std::optional<double>& figure) {
  if (!figure) return nullptr;
  return std::strtod(fmt::format("{:.4g}", *figure).c_str(), nullptr);
}

}  // namespace

std::vector<std::string> NcuArguments() {
  std::vector<std::string> arguments = {
      "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "demangled",
      // Set clocks would disturb whoever uses the card next.
      "--clock-control", "none", "--target-processes", "all", "--profile-from-start", "off",
      // Filters by name are left to ReadNcu: a name with parameters is no pattern.
      "--launch-count", std::to_string(kMaxNcuLaunches)};
  for (const char* section : {"SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats"})
    arguments.insert(arguments.end(), {"--section", section});
  arguments.insert(arguments.end(), {"--metrics", std::string(kFigures[2].metrics[0])});
  return arguments;
}

Result<NcuSummary> ReadNcu(std::string_view printed, const std::vector<std::string>& own) {
  std::set<std::string> wanted;
  for (const std::string& name : own) wanted.insert(Spaceless(ShortName(name)));
  bool others = false;
  std::vector<std::string> columns;
  std::vector<Sums> kernels;
  size_t rows = 0;
  for (const std::string_view line : Split(printed, '\n')) {
    if (!line.starts_with('"') || rows > kMaxRows) continue;
    const std::optional<std::vector<std::string>> cells = ReadRow(Trim(line));
    if (!cells) continue;
    if (columns.empty()) {
      if (cells->front() == "ID") columns = *cells;
      continue;
    }
    if (cells->size() != columns.size()) continue;
    Row row;
    for (size_t i = 0; i < columns.size(); ++i) row[columns[i]] = (*cells)[i];
    ++rows;
    // The second line holds units, and a kernel of no time none of the figures.
    const std::optional<double> ns = Number(Cell(row, kDuration), kMostUs * 1e3);
    if (Trim(Cell(row, "ID")).empty() || !ns || *ns <= 0) continue;
    const std::string name = ShortName(Cell(row, "Kernel Name"));
    if (!wanted.empty() && !wanted.contains(Spaceless(name))) {
      others = true;
      continue;
    }
    auto found = std::find_if(kernels.begin(), kernels.end(),
                              [&](const Sums& sums) { return sums.kernel.name == name; });
    if (found == kernels.end()) {
      kernels.emplace_back().kernel.name = name;
      found = kernels.end() - 1;
    }
    AddLaunch(row, *ns / 1e3, &*found);
  }
  if (kernels.empty() && others)
    return Err(ErrorCode::kUnavailable,
               "none of the kernels that it looked at is the submission's own");
  if (kernels.empty()) return WhyNothing(printed);
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Sums& a, const Sums& b) { return a.us > b.us; });
  NcuSummary summary;
  summary.left_out =
      static_cast<int64_t>(kernels.size() - std::min(kernels.size(), kMaxNcuKernels));
  kernels.resize(std::min(kernels.size(), kMaxNcuKernels));
  for (Sums& sums : kernels) summary.kernels.push_back(Mean(std::move(sums)));
  return summary;
}

json::object ToJson(const NcuSummary& summary) {
  json::array kernels;
  for (const NcuKernel& kernel : summary.kernels) {
    json::object item;
    item["name"] = kernel.name;
    item["launches"] = kernel.launches;
    item["us"] = OrNull(kernel.us);
    item["compute_pct"] = OrNull(kernel.compute_pct);
    item["memory_pct"] = OrNull(kernel.memory_pct);
    item["dram_pct"] = OrNull(kernel.dram_pct);
    item["occupancy_pct"] = OrNull(kernel.occupancy_pct);
    item["occupancy_most_pct"] = OrNull(kernel.occupancy_most);
    item["occupancy_limit"] =
        kernel.occupancy_limit.empty() ? json::value(nullptr) : json::value(kernel.occupancy_limit);
    item["registers"] = OrNull(kernel.registers);
    json::array stalls;
    for (const auto& [reason, share] : kernel.stalls)
      stalls.push_back(json::object{{"reason", reason}, {"share", OrNull(share)}});
    item["stalls"] = std::move(stalls);
    kernels.push_back(std::move(item));
  }
  return {{"kernels", std::move(kernels)}, {"left_out", summary.left_out}};
}

std::string NcuLine(const NcuKernel& kernel) {
  std::string text = fmt::format("{}: {:.4g} us", kernel.name, kernel.us);
  const auto add = [&](std::string_view name, const std::optional<double>& pct) {
    if (pct) text += fmt::format("; {} {:.3g} %", name, *pct);
  };
  add("SM", kernel.compute_pct);
  add("memory", kernel.memory_pct);
  add("DRAM", kernel.dram_pct);
  add("occupancy", kernel.occupancy_pct);
  if (kernel.occupancy_most)
    text +=
        fmt::format(" of {:.3g} %{}{}", *kernel.occupancy_most,
                    kernel.occupancy_limit.empty() ? "" : ", bounded by ", kernel.occupancy_limit);
  if (kernel.registers) text += fmt::format("; {:.4g} registers", *kernel.registers);
  for (size_t i = 0; i < kernel.stalls.size(); ++i) {
    const auto& [reason, share] = kernel.stalls[i];
    const std::string_view meaning = StallMeaning(reason);
    text += fmt::format("{}{} {:.0f} %{}", i == 0 ? "; warps wait: " : ", ", reason, 100 * share,
                        meaning.empty() ? "" : fmt::format(" ({})", meaning));
  }
  return text;
}

}  // namespace assay
