#pragma once

namespace assay::openenv {

/// web/index.html, compiled in.
extern const char kPage[];

}  // namespace assay::openenv
