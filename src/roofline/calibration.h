#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "roofline/card.h"

namespace assay {

/// What one card reached in the hands of calibration kernels: an `assay.calibration/1` document,
/// made by python/assay/runtime/calibrate.py.
struct Calibration {
  DeviceFacts device;
  bool cpu = false;
  std::string uuid;  ///< of the card, or "cpu-..." of a processor; names the cached file
  std::string driver;
  std::string torch;
  bool quick = false;
  /// GB/s: dram_copy, dram_read, dram_write, cache_copy; copies count bytes read and written.
  std::map<std::string, double> bandwidth_gbs;
  std::map<std::string, double> tflops;  ///< by precision: fp64, fp32, tf32, bf16, fp16, int8, fp8
  double launch_us = 0;                  ///< an empty kernel, back to back with others
  /// The best that was ever seen on the card, for the bound: rates only go up.
  std::map<std::string, double> best_gbs;
  std::map<std::string, double> best_tflops;
};

/// kInvalid: not such a document, or with figures that cannot be.
Result<Calibration> ReadCalibration(const json::object& document);

/// What a card's own figures say against the table's: "dram_copy 5100 GB/s is 1.06 of 4800 (0.70 to
/// 1.02 is plausible)". Empty when all are plausible. Figures that are not may not be paid by.
std::vector<std::string> Implausible(const Calibration& calibration, const Card& card);

/// A processor as a card: nothing is published of it, so its rates are the best that were measured,
/// with headroom.
Card ProcessorCard(const Calibration& calibration);

/// Folder of the cached calibrations: $XDG_CACHE_HOME/assay/calibration, else below ~/.cache.
std::string CalibrationFolder();

/// The cached calibration of a card. kNotFound: it was not calibrated (says how to).
Result<Calibration> LoadCalibration(const std::string& folder, const std::string& uuid);

/// Stores a document under its card, with the best figures of an older one of that card kept, and
/// returns the file's path.
Result<std::string> StoreCalibration(const std::string& folder, json::object document);

}  // namespace assay
