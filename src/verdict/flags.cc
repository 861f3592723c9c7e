#include "verdict/flags.h"

#include <algorithm>

namespace assay {
namespace {

constexpr FlagInfo kFlags[] = {
    {"at_roof", "The time is the bound of the card, within the error of clock and bound.", false},
    {"audited",
     "The time was below the card's bound for this task at first and was measured a second time.",
     false},
    {"child_processes",
     "The submission started processes; they were stopped before its time was taken.", true},
    {"clock_disagrees",
     "The submission's own clock claimed too little or was malformed; the outside clock was paid.",
     true},
    {"collapse",
     "The time is less than the reference's arithmetic takes, not less than its traffic takes: the "
     "result follows from less work. It is paid once an override of the task's bound says so.",
     true},
    {"constant_input",
     "get_inputs() gives one of the task's inputs the same values from every seed: what is "
     "computed "
     "from it alone can be remembered.",
     false},
    {"decoy",
     "The submission's own kernels do not do the work: library kernels do, or the result is "
     "right without them.",
     true},
    {"global_cudnn",
     "Switches of cuDNN were changed; they hold in the submission's own process only, the "
     "reference "
     "is timed without them.",
     true},
    {"global_deterministic",
     "torch's deterministic algorithms were switched in the submission's own process.", true},
    {"global_dtype", "torch's default dtype was changed in the submission's own process.", true},
    {"global_precision",
     "torch's precision of float32 matrix work was changed; it holds in the submission's own "
     "process only, and its outputs must be right all the same.",
     true},
    {"library", "Library kernels do part of the work; replace them by kernels of your own.", true},
    {"memory_grows",
     "Memory grows with every call, by an output's size or more: results are kept that no caller "
     "asks for again.",
     true},
    {"noisy", "The interval of the speedup is wide; measure again on a quieter machine.", false},
    {"nondeterministic",
     "Two calls on the same inputs gave different bits, both within the tolerance: atomics, or a "
     "race that has not shown yet.",
     true},
    {"output_reused",
     "Every call returns the same buffer; a caller who keeps a result will see it overwritten.",
     true},
    {"reduced_precision",
     "The values agree with float64 in far fewer bits than the reference's: TF32 or half precision "
     "was used inside.",
     true},
    {"rounds_discarded", "Rounds that something disturbed were measured again.", false},
    {"sandbox_degraded", "This machine lacks part of the sandbox; the environment says which.",
     false},
    {"shape_specialized",
     "The submission is wrong, or fails, on smaller inputs that the reference accepts; on the "
     "task's own sizes it is right.",
     true},
    {"statistical",
     "The reference draws random numbers; outputs of many calls were compared with its "
     "distribution.",
     false},
    {"superluminal",
     "The time is less than the card needs for this task, so it is not paid: does every call read "
     "all inputs and write all outputs?",
     true},
    {"throttled",
     "A power cap or heat slowed the card in some rounds, for the reference as for the submission.",
     false},
    {"triton_interpreter",
     "Kernels ran in Triton's interpreter on the CPU; times are not meaningful.", false},
    {"void_task", "A trivial program passes this task; its score means nothing.", false},
    {"weights_seed",
     "Parameter names differ from the reference's, so equal weights rest on equal seeds.", true},
};

}  // namespace

std::span<const FlagInfo> KnownFlags() { return kFlags; }

const FlagInfo* FindFlag(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFlags), std::end(kFlags),
                                   [&](const FlagInfo& flag) { return flag.name == name; });
  return found == std::end(kFlags) ? nullptr : found;
}

}  // namespace assay
