#pragma once

namespace assay::api {

/// The text of schema/assay.verdict.1.json, so that the server needs no file for it.
extern const char kVerdictSchemaText[];

}  // namespace assay::api
