#pragma once

#include "base/clock.h"

namespace assay {

/// From now on SIGTERM, SIGINT and SIGHUP are counted and wake the main thread; a third
/// termination ends the process at once. SIGPIPE is ignored.
void CatchSignals();

/// SIGTERM and SIGINT so far.
int Terminations();
/// Whether a SIGHUP came since the last call.
bool TakeHangup();

/// Until a signal comes, another thread calls Wake(), or the time is over. The main thread's.
void SleepUnlessWoken(Seconds limit);
void Wake();

}  // namespace assay
