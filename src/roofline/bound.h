#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "roofline/calibration.h"
#include "roofline/card.h"
#include "roofline/report.h"
#include "roofline/work.h"

namespace assay {

/// One line of the explanation: a time, and the figures that it comes from.
struct BoundTerm {
  std::string name;  ///< "memory", "matrix", "vector", "launch", "chain"
  double us = 0;
  std::string how = {};  ///< "269 MB / 4917 GB/s"
};

/// What a person knows of a task that its reference does not show. Each figure replaces the traced
/// one; a task whose source has another hash is not meant.
struct BoundOverride {
  std::string task_sha256;
  std::string reason;  ///< never empty
  std::optional<double> read_bytes;
  std::optional<double> write_bytes;
  std::optional<double> matrix_scale;  ///< of the matrix work, in (0, 1]
};

/// Two times that are never mixed. The bound: no correct program is measured below it; for
/// plausibility. The calibrated time: what a very good kernel takes on this very card; for rewards.
///
///     bound       max(memory, matrix, vector, launch)     at the table's highest rates
///     calibrated  launch + max(memory, matrix, vector) + chain, at the rates that the card reached
struct Bound {
  double bound_us = 0;
  std::optional<double> calibrated_us;
  std::vector<BoundTerm> bound_terms;
  std::vector<BoundTerm> calibrated_terms;
  std::string limiter;    ///< the bound's largest term
  std::string precision;  ///< of the matrix work in the bound; empty without such work
  std::string card;
  std::string source;      ///< "datasheet", "calibrated"
  double eager_us = 0;     ///< the traffic of the reference's operators at the bound's memory rate
  double bytes = 0;        ///< that must be moved
  double fusion_gain = 1;  ///< the most that moving no more than needed gains over that
  std::vector<std::string> notes;
};

/// Computes both. Pure. `calibration` may be null; it is the same card's. Inputs come from memory
/// (the protocol empties the cache); of the outputs an L2's worth may still be in it when the clock
/// stops, which only the calibrated time charges.
Bound ComputeBound(const Work& work, const Card& card, const Calibration* calibration,
                   const BoundOverride* override_by);

/// The verdict's part of a bound; `fraction` is still 0.
RooflineReport ToReport(const Bound& bound);

/// Reads {"<task id>": {"task_sha256", "reason", "read_bytes"?, "write_bytes"?, "matrix_scale"?}}
/// and returns the entry of one task, if there is one for this source. kInvalid: a malformed entry.
Result<std::optional<BoundOverride>> FindOverride(const json::object& overrides,
                                                  const std::string& task_id,
                                                  const std::string& task_sha256);

/// Line by line for a person, and the same as JSON.
std::string ExplainText(const Work& work, const Bound& bound);
json::object ExplainJson(const Work& work, const Bound& bound);

}  // namespace assay
