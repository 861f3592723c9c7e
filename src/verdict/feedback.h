#pragma once

#include <cstddef>
#include <string>

#include "verdict/verdict.h"

namespace assay {

struct FeedbackOptions {
  size_t max_bytes = 6400;  ///< about 1,600 tokens; at least 256
};

/// Text that a model can act on, in this order: the verdict in one line; the rule or stage;
/// compiler errors, or what was wrong with the values, or the exception, or the limit that passed;
/// for correct submissions times, clocks and what the card could do; notes worth acting on. At most
/// `max_bytes`, cut in the middle.
///
/// Holds no seeds, directories, addresses, escape codes or frames of code other than the
/// submission's. Lines quoted from the submission's own output are indented, so that they cannot be
/// taken for Assay's words. Stable: the same verdict gives the same bytes.
std::string Feedback(const Verdict& verdict, const FeedbackOptions& options = {});

}  // namespace assay
