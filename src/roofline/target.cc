#include "roofline/target.h"

#include "base/strings.h"

namespace assay {

Result<RooflineTarget> CalibratedTarget(const Calibration& calibration) {
  if (calibration.cpu) return RooflineTarget{ProcessorCard(calibration), calibration};
  ASSAY_ASSIGN_OR_RETURN(const Card card, CardOf(calibration.device));
  const std::vector<std::string> problems = Implausible(calibration, card);
  if (!problems.empty())
    return Err(ErrorCode::kUnavailable,
               "the calibration of {} is not plausible: {}; run `assay calibrate` again, or use "
               "--datasheet",
               card.name, Join(problems, "; "));
  return RooflineTarget{card, calibration};
}

Result<RooflineTarget> TargetOf(const DeviceFacts& device, const std::string& uuid,
                                const std::string& folder) {
  const Result<Calibration> cached = LoadCalibration(folder, uuid);
  if (cached.ok()) return CalibratedTarget(*cached);
  if (cached.error().code != ErrorCode::kNotFound || uuid == "cpu") return cached.error();
  ASSAY_ASSIGN_OR_RETURN(Card card, CardOf(device));
  return RooflineTarget{std::move(card), {}};
}

}  // namespace assay
