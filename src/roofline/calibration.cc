#include "roofline/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "base/fd.h"
#include "base/resource.h"

namespace assay {
namespace {

constexpr double kMost = 1e9;

// No processor's table says what it can do; what was measured may be half of it.
constexpr double kHeadroom = 2;

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

Status Figures(const json::object& document, const char* name,
               std::map<std::string, double>* figures) {
  for (const auto& [key, value] : GetObject(document, name)) {
    if (value.is_null()) continue;  // The card cannot do it.
    const double number = value.is_number() ? value.to_number<double>() : -1;
    if (!(number > 0 && number < kMost))
      return Err(ErrorCode::kInvalid, "the calibration's {}.{} must be a positive number", name,
                 std::string_view(key));
    (*figures)[std::string(key)] = number;
  }
  return {};
}

double Figure(const std::map<std::string, double>& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() ? 0 : found->second;
}

void Check(const std::string& what, double measured, double table, double low, double high,
           std::vector<std::string>* problems) {
  if (measured <= 0 || table <= 0) return;
  const double share = measured / table;
  if (share < low || share > high)
    problems->push_back(fmt::format("{} {:.4g} is {:.2f} of {:.4g}; plausible is {} to {}", what,
                                    measured, share, table, low, high));
}

/// Each figure's larger one of two documents.
json::object Best(const json::object& document, const char* name, const json::object& older,
                  const char* older_name) {
  json::object best = GetObject(document, name);
  for (const auto& [key, value] : GetObject(older, older_name))
    if (value.is_number() && value.to_number<double>() > GetDouble(best, key)) best[key] = value;
  return best;
}

std::string FileOf(const std::string& folder, const std::string& uuid) {
  return folder + "/" + uuid + ".json";
}

}  // namespace

Result<Calibration> ReadCalibration(const json::object& document) {
  if (GetString(document, "schema") != "assay.calibration/1")
    return Err(ErrorCode::kInvalid,
               "not a calibration: its 'schema' is not \"assay.calibration/1\"");
  Calibration calibration;
  const json::object& card = GetObject(document, "card");
  calibration.cpu = GetBool(card, "cpu");
  calibration.uuid = GetString(card, "uuid");
  if (!IsName(calibration.uuid))
    return Err(ErrorCode::kInvalid, "the calibration does not say which card it is of");
  calibration.driver = GetString(card, "driver");
  calibration.torch = GetString(card, "torch");
  calibration.quick = GetBool(document, "quick");
  DeviceFacts& device = calibration.device;
  device.name = GetString(card, "name");
  device.compute = static_cast<int>(std::clamp<int64_t>(GetInt(card, "compute"), 0, 1000));
  device.multiprocessors =
      static_cast<int>(std::clamp<int64_t>(GetInt(card, "multiprocessors"), 0, 100000));
  device.clock_ghz = std::clamp(GetDouble(card, "clock_ghz"), 0.0, 100.0);
  device.dram_gbs = std::clamp(GetDouble(card, "dram_gbs"), 0.0, kMost);
  device.l2_bytes = std::clamp(GetDouble(card, "l2_bytes"), 0.0, 1e12);
  ASSAY_RETURN_IF_ERROR(Figures(document, "bandwidth_gbs", &calibration.bandwidth_gbs));
  ASSAY_RETURN_IF_ERROR(Figures(document, "tflops", &calibration.tflops));
  for (const char* name : {"dram_copy", "dram_read", "dram_write"})
    if (Figure(calibration.bandwidth_gbs, name) <= 0)
      return Err(ErrorCode::kInvalid, "the calibration has no bandwidth_gbs.{}", name);
  if (Figure(calibration.tflops, "fp32") <= 0)
    return Err(ErrorCode::kInvalid, "the calibration has no tflops.fp32");
  calibration.launch_us = GetDouble(document, "launch_us", -1);
  if (!(calibration.launch_us > 0 && calibration.launch_us < 1e6))
    return Err(ErrorCode::kInvalid, "the calibration's launch_us must be a positive number");
  calibration.best_gbs = calibration.bandwidth_gbs;
  calibration.best_tflops = calibration.tflops;
  ASSAY_RETURN_IF_ERROR(Figures(document, "best_gbs", &calibration.best_gbs));
  ASSAY_RETURN_IF_ERROR(Figures(document, "best_tflops", &calibration.best_tflops));
  return calibration;
}

std::vector<std::string> Implausible(const Calibration& calibration, const Card& card) {
  std::vector<std::string> problems;
  if (calibration.cpu) return problems;
  const auto& gbs = calibration.bandwidth_gbs;
  for (const char* name : {"dram_copy", "dram_read", "dram_write"})
    Check(fmt::format("{} (GB/s)", name), Figure(gbs, name), card.dram_gbs, 0.70, 1.02, &problems);
  Check("cache_copy (GB/s)", Figure(gbs, "cache_copy"), Figure(gbs, "dram_copy"), 1.2, 5,
        &problems);
  // The library's int8 and fp8 products are far from their peaks on some cards.
  const std::tuple<const char*, Precision, double> rates[] = {
      {"fp32", Precision::kFp32, 0.6}, {"tf32", Precision::kTf32, 0.6},
      {"bf16", Precision::kFp16, 0.6}, {"fp16", Precision::kFp16, 0.6},
      {"int8", Precision::kInt8, 0.2}, {"fp8", Precision::kFp8, 0.2}};
  for (const auto& [name, precision, low] : rates)
    Check(fmt::format("{} (TFLOP/s)", name), Figure(calibration.tflops, name),
          PeakFlops(card, precision) / 1e12, low, 1.0, &problems);
  Check("launch (us)", calibration.launch_us, 1, 0.5, 15, &problems);
  return problems;
}

Card ProcessorCard(const Calibration& calibration) {
  Card card;
  card.name = calibration.device.name;
  card.multiprocessors = 1;
  card.clock_ghz = card.matrix_clock_ghz = 1;
  // Task inputs at a processor's sizes stay in its caches, whatever is done to empty them.
  card.dram_gbs = kHeadroom * std::max(Figure(calibration.best_gbs, "cache_copy"),
                                       Figure(calibration.best_gbs, "dram_read"));
  card.l2_bytes = 0;
  const std::pair<const char*, Precision> rates[] = {{"fp64", Precision::kFp64},
                                                     {"fp32", Precision::kFp32},
                                                     {"bf16", Precision::kFp16},
                                                     {"fp16", Precision::kFp16},
                                                     {"int8", Precision::kInt8}};
  for (const auto& [name, precision] : rates) {
    double& rate = card.rates[static_cast<int>(precision)];
    rate = std::max(rate, kHeadroom * 1e3 * Figure(calibration.best_tflops, name));
  }
  // Half precision is often slower than single there; a kernel may always compute in single.
  double& half = card.rates[static_cast<int>(Precision::kFp16)];
  half = std::max(half, card.rates[static_cast<int>(Precision::kFp32)]);
  card.datasheet = false;
  return card;
}

std::string CalibrationFolder() { return CacheFolder("calibration"); }

Result<Calibration> LoadCalibration(const std::string& folder, const std::string& uuid) {
  if (!IsName(uuid)) return Err(ErrorCode::kInvalid, "'{}' names no card", uuid);
  const std::string path = FileOf(folder, uuid);
  if (!std::filesystem::exists(path))
    return Err(ErrorCode::kNotFound, "this card is not calibrated (no {}); run `assay calibrate`",
               path);
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1u << 20));
  ASSAY_ASSIGN_OR_RETURN(const json::object document, ParseJsonObject(text));
  return ReadCalibration(document);
}

Result<std::string> StoreCalibration(const std::string& folder, json::object document) {
  ASSAY_ASSIGN_OR_RETURN(const Calibration calibration, ReadCalibration(document));
  const std::string path = FileOf(folder, calibration.uuid);
  json::object older;
  if (const Result<std::string> text = ReadFile(path, 1u << 20); text.ok())
    if (Result<json::object> read = ParseJsonObject(*text);
        read.ok() && ReadCalibration(*read).ok())
      older = *read;
  for (const auto& [name, best] :
       {std::pair{"bandwidth_gbs", "best_gbs"}, {"tflops", "best_tflops"}})
    document[best] = Best(document, name, older, best);
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return Err(ErrorCode::kIo, "cannot create {}: {}", folder, code.message());
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(path, PrettyJson(document) + "\n"));
  return path;
}

}  // namespace assay
