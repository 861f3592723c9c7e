#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "openenv/environment.h"

namespace assay::openenv {

/// The environment's MCP tools: get_task, submit_kernel, check_kernel, get_best. Each item has
/// `name`, `description` and the schema of its arguments under `schema_key` ("inputSchema" in MCP,
/// "input_schema" in OpenEnv's steps).
json::array ToolList(std::string_view schema_key);

/// What a call gave. With `error_type` set nothing was done, and `text` says why.
struct ToolResult {
  std::string error_type;  ///< "tool_not_found", "invalid_args", "execution_error"
  std::string text;        ///< for a model to read
  json::object data;       ///< the observation with `reward` and `done`
  std::optional<double> reward;
  bool done = false;
};

/// Calls a tool in a session, or, with `alone`, in none: then submit_kernel and check_kernel need a
/// task_id and get_best has nothing. `reply` is called once, as by Environment::Step.
void CallTool(const std::shared_ptr<Environment>& environment, bool alone, const std::string& name,
              const json::object& arguments, const Asked& asked,
              std::function<void(ToolResult)> reply);

}  // namespace assay::openenv
