#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The sandbox for a forked interpreter that loads a shared library (see sandbox.h for the two
/// phases). Every call returns 0 and writes a report (SandboxReport as JSON, zero-terminated), or
/// returns -1 and writes {"error": "..."}; a report that does not fit is an error.
/// 16 KiB is ample. Nothing is thrown.

int assay_sandbox_unshare(const char* spec_json, char* report, size_t report_size);

/// `report` holds what assay_sandbox_unshare() wrote, and receives the completed report. After -1
/// the process must exit. `keep` are the `keep_count` descriptors that stay open.
int assay_sandbox_confine(const char* spec_json, const int* keep, int keep_count, char* report,
                          size_t report_size);

#ifdef __cplusplus
}
#endif
