#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "roofline/calibration.h"
#include "roofline/card.h"

namespace assay {

/// What bounds are computed for: a card, and what it reached where it was calibrated.
struct RooflineTarget {
  Card card;
  std::optional<Calibration> calibration;
};

/// A calibrated card. kUnavailable, with what to do, when its figures cannot be.
Result<RooflineTarget> CalibratedTarget(const Calibration& calibration);

/// The target for a device: by its calibration in `folder` where there is one, else by the table. A
/// processor (`uuid` "cpu") has no table. kNotFound: it was not calibrated and must be (says how
/// to); kInvalid, kUnavailable: its calibration is no use.
Result<RooflineTarget> TargetOf(const DeviceFacts& device, const std::string& uuid,
                                const std::string& folder);

}  // namespace assay
