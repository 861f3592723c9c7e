#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "roofline/calibration.h"
#include "roofline/card.h"
#include "roofline/override.h"
#include "roofline/report.h"
#include "roofline/work.h"

namespace assay {

/// One line of the explanation: a time, and the figures that it comes from.
struct BoundTerm {
  std::string name;  ///< "memory", "matrix", "vector", "launch", "chain"
  double us = 0;
  std::string how = {};  ///< "269 MB / 4917 GB/s"
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
  bool cpu = false;       ///< the card is a processor
  std::string source;     ///< "datasheet", "calibrated"
  double eager_us = 0;    ///< the traffic of the reference's operators at the bound's memory rate
  double bytes = 0;       ///< that must be moved
  double traffic_us = 0;  ///< the bound's largest term that is no arithmetic
  std::string override_reason;
  std::optional<double> written_us;  ///< the bound without the override
  double fusion_gain = 1;            ///< the most that moving no more than needed gains over that
  std::vector<std::string> notes;
};

/// Computes both. Pure. `calibration` may be null; it is the same card's. Inputs come from memory
/// (the protocol empties the cache); of the outputs an L2's worth may still be in it when the clock
/// stops, which only the calibrated time charges.
Bound ComputeBound(const Work& work, const Card& card, const Calibration* calibration,
                   const BoundOverride* override_by);

/// The verdict's part of a bound; `fraction` is still 0.
RooflineReport ToReport(const Bound& bound);

/// Line by line for a person, and the same as JSON.
std::string ExplainText(const Work& work, const Bound& bound);
json::object ExplainJson(const Work& work, const Bound& bound);

}  // namespace assay
