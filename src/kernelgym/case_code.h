#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace assay::kernelgym {

/// Cuts get_cases() out of a submission, so that the expected outputs which it computes can be had
/// without running anything else of the submission where expected outputs are kept.
///
/// The submission is hostile and the process that would run this text is trusted, so the text must
/// be plain arithmetic: statements without branches or loops, calls of listed tensor functions and
/// methods, numbers, and numeric constants of the module. Everything else is refused, with the line
/// and what to do (send it as cases_code, which the requester vouches for). Names decide, not
/// shapes of syntax: an identifier or attribute that is not on a list cannot occur at all.
///
/// kNotFound: the submission has no get_cases(). kInvalid: it has one that cannot be taken.
Result<std::string> ExtractCases(std::string_view kernel_code);

}  // namespace assay::kernelgym
