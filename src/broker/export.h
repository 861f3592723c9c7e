#pragma once

#include <functional>

#include "broker/store.h"

namespace assay {

/// One job as a row of a data set. Every row has the same keys, so that loaders that infer a schema
/// (Hugging Face datasets, pandas, Arrow) find one:
///   id, owner, task_id, task_source, source, submission_sha256, options (JSON text), status,
///   fault, correct, speedup, candidate_us, reference_us, flags, feedback, submitted_at,
///   started_at, finished_at, deliveries, worker, verdict (JSON text; with `raw` also the samples)
/// What a row lacks is null. Options and verdict are text: their shape varies from row to row.
json::object ExportRow(const Job& job, bool raw);

}  // namespace assay
