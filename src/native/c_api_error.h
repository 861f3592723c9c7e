#pragma once

#include "base/result.h"

namespace assay {

/// Keeps the message for assay_last_error() on this thread; what the C ABI returns for it: -2 where
/// something is not there, else -1.
int Fail(const Error& error);

}  // namespace assay
