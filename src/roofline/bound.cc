#include "roofline/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace assay {
namespace {

// An empty kernel between two others takes over a microsecond on every card; this is never too
// long.
constexpr double kLeastLaunchUs = 1;
// A dependency across the whole grid: the next kernel's launch, or a grid-wide barrier.
constexpr double kChainUs = 1.5;
// What one multiprocessor keeps of a row in registers and shared memory, and how many share a row.
constexpr double kChipBytesPerMultiprocessor = 200e3;
constexpr double kMultiprocessorsPerRow = 8;

struct Rate {
  std::string name;  ///< of the precision
  double flops = 0;  ///< per second
};

double Peak(const Card& card, const Calibration* calibration, Precision precision,
            const char* name) {
  const double table = PeakFlops(card, precision);
  if (calibration == nullptr || !card.datasheet) return table;
  const auto best = calibration->best_tflops.find(name);
  return best == calibration->best_tflops.end() ? table : std::max(table, best->second * 1e12);
}

double Reached(const Calibration& calibration, const char* name) {
  const auto found = calibration.tflops.find(name);
  return found == calibration.tflops.end() ? 0 : found->second * 1e12;
}

/// All ways in which operands of a type may be multiplied, and their rates. Splitting fp32 into
/// three products of a shorter type is accurate enough wherever fp32 is.
std::vector<Rate> Ladder(const Work& work, const std::string& dtype,
                         const std::function<double(Precision, const char*)>& rate) {
  const auto admitted = [&](const char* name) {
    if (!work.verified) return std::string_view(name) == "tf32";  // In doubt the shorter time.
    return std::find(work.admitted.begin(), work.admitted.end(), name) != work.admitted.end();
  };
  if (dtype == "float64" || dtype == "complex128") {
    return {
        {"fp64", std::max(rate(Precision::kFp64, "fp64"), rate(Precision::kFp64Matrix, "fp64"))}};
  }
  const double half = std::max(rate(Precision::kFp16, "bf16"), rate(Precision::kFp16, "fp16"));
  if (dtype == "float16") return {{"fp16", half}};
  if (dtype == "bfloat16") return {{"bf16", half}};
  if (dtype.starts_with("float8")) return {{"fp8", std::max(rate(Precision::kFp8, "fp8"), half)}};
  if (dtype.starts_with("int") || dtype.starts_with("uint"))
    return {{"int8", std::max(rate(Precision::kInt8, "int8"), half)}};
  const double tf32 = rate(Precision::kTf32, "tf32");
  std::vector<Rate> ladder{{"fp32", rate(Precision::kFp32, "fp32")}, {"3xtf32", tf32 / 3}};
  if (admitted("tf32")) ladder.push_back({"tf32", tf32});
  if (admitted("bf16x3")) ladder.push_back({"bf16x3", half / 3});
  if (admitted("bf16")) ladder.push_back({"bf16", half});
  if (admitted("fp16")) ladder.push_back({"fp16", half});
  return ladder;
}

double VectorRate(const std::string& dtype,
                  const std::function<double(Precision, const char*)>& rate) {
  if (dtype == "float64" || dtype == "complex128") return rate(Precision::kFp64, "fp64");
  const double single = rate(Precision::kFp32, "fp32");
  // Packed half-precision arithmetic does two at once, on some cards four.
  return dtype == "float16" || dtype == "bfloat16" ? 4 * single : single;
}

std::string Quantity(double value, const char* unit) {
  const std::pair<double, const char*> scales[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [scale, prefix] : scales)
    if (value >= scale) return fmt::format("{:.4g} {}{}", value / scale, prefix, unit);
  return fmt::format("{:.4g} {}", value, unit);
}

/// Matrix and vector terms; `figure` chooses which of an operator's figures counts.
void Arithmetic(const Work& work, double scale, double Work::Operator::*figure,
                const std::function<double(Precision, const char*)>& rate,
                std::vector<BoundTerm>* terms, std::string* precision) {
  std::map<std::string, double> matrix;
  std::map<std::string, double> vector;
  for (const Work::Operator& op : work.operators) {
    // One addition of a reduction is all that a vector unit must do for an element, and with a
    // multiply-add it does two at once.
    (op.matrix ? matrix : vector)[op.dtype] += op.*figure * (op.matrix ? scale : 1);
  }
  BoundTerm products{.name = "matrix"};
  double largest = 0;
  for (const auto& [dtype, flops] : matrix) {
    const std::vector<Rate> ladder = Ladder(work, dtype, rate);
    const auto best =
        std::max_element(ladder.begin(), ladder.end(),
                         [](const Rate& a, const Rate& b) { return a.flops < b.flops; });
    if (flops <= 0 || best->flops <= 0) continue;
    const double us = flops / best->flops * 1e6;
    products.us += us;
    products.how +=
        fmt::format("{}{} of {} at {} ({})", products.how.empty() ? "" : ", ",
                    Quantity(flops, "FLOP"), dtype, Quantity(best->flops, "FLOP/s"), best->name);
    if (us > largest) *precision = best->name;
    largest = std::max(largest, us);
  }
  if (products.us > 0) terms->push_back(std::move(products));
  BoundTerm rest{.name = "vector"};
  for (const auto& [dtype, flops] : vector) {
    const double speed = VectorRate(dtype, rate);
    if (flops <= 0 || speed <= 0) continue;
    rest.us += flops / speed * 1e6;
    rest.how += fmt::format("{}{} of {} at {}", rest.how.empty() ? "" : ", ",
                            Quantity(flops, "FLOP"), dtype, Quantity(speed, "FLOP/s"));
  }
  if (rest.us > 0) terms->push_back(std::move(rest));
}

/// Between what pure reads, copies and pure writes reach, by the share of reads.
double MixedGbs(const Calibration& calibration, double read, double write) {
  const auto figure = [&](const char* name) { return calibration.bandwidth_gbs.at(name); };
  const double share = read + write > 0 ? read / (read + write) : 0.5;
  const double copy = figure("dram_copy");
  if (share >= 0.5) return copy + (figure("dram_read") - copy) * (share - 0.5) * 2;
  return copy + (figure("dram_write") - copy) * (0.5 - share) * 2;
}

const BoundTerm& Largest(const std::vector<BoundTerm>& terms) {
  return *std::max_element(terms.begin(), terms.end(),
                           [](const BoundTerm& a, const BoundTerm& b) { return a.us < b.us; });
}

/// A second read of what no multiprocessors keep and no L2 holds.
double SecondReads(const Work& work, const Card& card) {
  double bytes = 0;
  for (const Work::SecondRead& again : work.second_reads)
    if (again.row_bytes > kChipBytesPerMultiprocessor * kMultiprocessorsPerRow)
      bytes += std::max(again.bytes - card.l2_bytes, 0.0);
  // An input of the task is read again, an intermediate is not there.
  return std::min(bytes, work.read_bytes);
}

void Calibrate(const Work& work, const Card& card, const Calibration& calibration, double read,
               double write, double scale, Bound* bound) {
  std::vector<BoundTerm> terms;
  const double again = SecondReads(work, card);
  const double gbs = MixedGbs(calibration, read + again, write);
  terms.push_back({.name = "memory",
                   .us = (read + write + again) / gbs / 1e3,
                   .how = fmt::format("{} read{} + {} written at {:.4g} GB/s", Quantity(read, "B"),
                                      again > 0 ? ", " + Quantity(again, "B") + " again" : "",
                                      Quantity(write, "B"), gbs)});
  std::string precision;
  Arithmetic(
      work, scale, &Work::Operator::flops,
      [&](Precision kind, const char* name) {
        return kind == Precision::kFp64Matrix ? 0 : Reached(calibration, name);
      },
      &terms, &precision);
  const double busy = Largest(terms).us;
  terms.push_back(
      {.name = "launch", .us = calibration.launch_us, .how = "an empty kernel on this card"});
  const double chain = calibration.cpu ? 0 : std::max(work.depth - 1, 0.0) * kChainUs;
  if (chain > 0)
    terms.push_back(
        {.name = "chain",
         .us = chain,
         .how = fmt::format("{:.0f} dependent steps at {} us", work.depth - 1, kChainUs)});
  bound->calibrated_terms = std::move(terms);
  // Never a target that cannot be reached.
  bound->calibrated_us = std::max(busy + calibration.launch_us + chain, bound->bound_us);
}

}  // namespace

Bound ComputeBound(const Work& work, const Card& card, const Calibration* calibration,
                   const BoundOverride* override_by) {
  Bound bound;
  bound.card = card.name;
  bound.source = calibration != nullptr ? "calibrated" : "datasheet";
  double read = work.read_bytes;
  double write = work.write_bytes;
  double scale = 1;
  if (override_by != nullptr) {
    read = std::min(read, override_by->read_bytes.value_or(read));
    write = std::min(write, override_by->write_bytes.value_or(write));
    scale = override_by->matrix_scale.value_or(1);
    bound.notes.push_back("override: " + override_by->reason);
    bound.override_reason = override_by->reason;
    bound.written_us = ComputeBound(work, card, calibration, nullptr).bound_us;
  }
  double gbs = card.dram_gbs;
  if (calibration != nullptr && card.datasheet)
    for (const char* name : {"dram_copy", "dram_read", "dram_write"})
      if (const auto best = calibration->best_gbs.find(name); best != calibration->best_gbs.end())
        gbs = std::max(gbs, best->second);
  bound.bytes = read + write;
  const double resident = std::min(write, card.l2_bytes);
  bound.bound_terms.push_back(
      {.name = "memory",
       .us = (read + write - resident) / gbs / 1e3,
       .how = fmt::format(
           "{} read + {} written{} at {:.4g} GB/s", Quantity(read, "B"), Quantity(write, "B"),
           resident > 0 ? " less " + Quantity(resident, "B") + " left in L2" : "", gbs)});
  Arithmetic(
      work, scale, &Work::Operator::least,
      [&](Precision kind, const char* name) { return Peak(card, calibration, kind, name); },
      &bound.bound_terms, &bound.precision);
  bound.cpu = calibration != nullptr && calibration->cpu;
  const double launch =
      calibration != nullptr ? std::min(calibration->launch_us, kLeastLaunchUs) : kLeastLaunchUs;
  bound.bound_terms.push_back(
      {.name = "launch", .us = launch, .how = bound.cpu ? "an empty call" : "an empty kernel"});
  const BoundTerm& largest = Largest(bound.bound_terms);
  bound.bound_us = largest.us;
  bound.limiter = largest.name;
  bound.traffic_us = std::max(bound.bound_terms.front().us, launch);
  bound.eager_us = work.eager_bytes / gbs / 1e3;
  const double fused_us = std::max((read + write) / gbs / 1e3, bound.bound_us);
  bound.fusion_gain = std::max(bound.eager_us / fused_us, 1.0);
  if (!work.verified && bound.precision == "tf32")
    bound.notes.emplace_back("whether TF32 passes the numeric rule was not tried; assumed so");
  if (!card.datasheet)
    bound.notes.emplace_back(
        "nothing is published of this processor: twice its best measured rates");
  if (calibration != nullptr) Calibrate(work, card, *calibration, read, write, scale, &bound);
  return bound;
}

RooflineReport ToReport(const Bound& bound) {
  return {.bound_us = bound.bound_us,
          .calibrated_us = bound.calibrated_us,
          .fraction = 0,
          .limiter = bound.limiter,
          .precision = bound.precision,
          .source = bound.source,
          .bytes = bound.bytes,
          .fusion_gain = bound.fusion_gain,
          .traffic_us = bound.traffic_us,
          .override_reason = bound.override_reason,
          .written_us = bound.written_us};
}

}  // namespace assay
