#include "native/device_work.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "base/strings.h"

namespace assay {
namespace {

double Microseconds(const DeviceWork& work) {
  return work.end_ns > work.start_ns ? static_cast<double>(work.end_ns - work.start_ns) / 1e3 : 0;
}

/// Work that one line of a report stands for.
using Likeness = std::tuple<std::string_view, std::array<int32_t, 3>, std::array<int32_t, 3>,
                            int32_t, int32_t, int32_t, uint32_t, Owner>;

struct Line {
  const DeviceWork* first = nullptr;
  int64_t calls = 0;
  double us = 0;
};

json::object ToJson(const Line& line) {
  const DeviceWork& work = *line.first;
  return {{"name", ReadableName(work.name)},
          {"own", work.owner == Owner::kOwn},
          {"calls", line.calls},
          {"us", line.us},
          {"grid", json::array(work.grid.begin(), work.grid.end())},
          {"block", json::array(work.block.begin(), work.block.end())},
          {"registers", work.registers},
          {"static_shared", work.static_shared},
          {"dynamic_shared", work.dynamic_shared},
          {"stream", static_cast<int64_t>(work.stream)}};
}

}  // namespace

std::string ReadableName(std::string_view name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      name.starts_with("_Z")
          ? abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status)
          : nullptr,
      std::free);
  return TruncateMiddle(CleanText(readable ? std::string_view(readable.get()) : name),
                        kMaxKernelName);
}

json::object SumUp(std::span<const DeviceWork> work, uint32_t calls) {
  std::map<Likeness, Line> lines;
  std::array<double, 3> kernel_us{};
  std::array<int64_t, 3> launches{};
  double copy_us = 0;
  int64_t copies = 0;
  std::set<std::pair<std::string_view, Owner>> distinct;
  std::set<DeviceWork::Kind> transfers;
  for (const DeviceWork& item : work) {
    const double us = Microseconds(item);
    if (item.kind != DeviceWork::Kind::kKernel) {
      copy_us += us;
      ++copies;
      transfers.insert(item.kind);
      continue;
    }
    kernel_us[static_cast<size_t>(item.owner)] += us;
    ++launches[static_cast<size_t>(item.owner)];
    distinct.emplace(item.name, item.owner);
    Line& line = lines[{item.name, item.grid, item.block, item.registers, item.static_shared,
                        item.dynamic_shared, item.stream, item.owner}];
    if (line.first == nullptr) line.first = &item;
    ++line.calls;
    line.us += us;
  }
  std::vector<Line> longest;
  longest.reserve(lines.size());
  for (const auto& [likeness, line] : lines) longest.push_back(line);
  std::stable_sort(longest.begin(), longest.end(),
                   [](const Line& a, const Line& b) { return a.us > b.us; });
  json::array kernels;
  for (const Line& line : longest) {
    if (kernels.size() == kMaxReportedKernels) break;
    kernels.push_back(ToJson(line));
  }
  int64_t own_kernels = 0;
  for (const auto& [name, owner] : distinct) own_kernels += owner == Owner::kOwn ? 1 : 0;
  const auto other_kernels = static_cast<int64_t>(distinct.size() + transfers.size()) - own_kernels;
  const auto left_out = static_cast<int64_t>(longest.size() - kernels.size());
  const auto us = [&](Owner owner) { return kernel_us[static_cast<size_t>(owner)]; };
  const auto count = [&](Owner owner) { return launches[static_cast<size_t>(owner)]; };
  return {{"calls", static_cast<int64_t>(calls)},
          {"own_us", us(Owner::kOwn)},
          {"library_us", us(Owner::kLibrary)},
          {"unknown_us", us(Owner::kUnknown)},
          {"copy_us", copy_us},
          {"own_launches", count(Owner::kOwn)},
          {"library_launches", count(Owner::kLibrary)},
          {"unknown_launches", count(Owner::kUnknown)},
          {"copies", copies},
          {"own_kernels", own_kernels},
          {"other_kernels", other_kernels},
          {"left_out", left_out},
          {"kernels", std::move(kernels)}};
}

Occupation OccupationOf(std::span<const DeviceWork> work) {
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const DeviceWork& item : work)
    if (item.end_ns >= item.start_ns) spans.emplace_back(item.start_ns, item.end_ns);
  if (spans.empty()) return {};
  std::sort(spans.begin(), spans.end());
  uint64_t busy = 0;
  uint64_t reached = spans.front().first;
  for (const auto& [start, end] : spans) {
    if (end <= reached) continue;
    busy += end - std::max(start, reached);
    reached = end;
  }
  return {static_cast<double>(reached - spans.front().first) / 1e3,
          static_cast<double>(busy) / 1e3};
}

}  // namespace assay
