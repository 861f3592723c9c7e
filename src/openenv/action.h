#pragma once

#include <string>

#include "base/json.h"

namespace assay::openenv {

/// What a step asks for.
struct Action {
  enum class Op { kSubmit, kCheck, kPoll, kCancel } op = Op::kSubmit;
  std::string code;  ///< as it came: a module, or a model's whole reply with a fenced block
  std::string language = "auto";
  std::string entry_point = "ModelNew";
  std::string task_id;  ///< empty: the episode's
  std::string ticket;   ///< of poll and cancel; empty: the oldest open one
  bool defer = false;
  json::object metadata;  ///< the client's own; comes back with the result
};

/// Longer code is the model's doing and so no protocol error: the submission is invalid.
inline constexpr size_t kMaxCode = 1u << 20;
/// Of the text of an action's metadata; more is not echoed.
inline constexpr size_t kMaxEcho = 4096;

/// One item of a list of errors, in pydantic's form.
json::object FieldError(std::string_view type, json::array location, std::string_view message,
                        const json::value* input = nullptr);

/// The first errors in one sentence, since clients show only a message.
std::string Summary(const json::array& errors);

struct ParsedAction {
  Action action;
  json::array errors;  ///< empty: the action is good
};

/// `code` (or `source`) is the only required member, and not even that for poll and cancel. Unknown
/// members are errors.
ParsedAction ParseAction(const json::value& data);

}  // namespace assay::openenv
