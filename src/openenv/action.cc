#include "openenv/action.h"

#include <algorithm>
#include <array>

#include "base/result.h"
#include "base/strings.h"

namespace assay::openenv {
namespace {

constexpr std::array kOps = {"submit", "check", "poll", "cancel"};
constexpr std::array kLanguages = {"auto",    "triton",   "cuda",   "cpp",
                                   "cutlass", "tilelang", "pytorch"};
constexpr std::array kMembers = {"code",    "source", "op",    "language", "entry_point",
                                 "task_id", "ticket", "defer", "metadata"};

bool IsIdentifier(std::string_view text) {
  if (text.empty() || text.size() > 128 || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// Reads members one by one and collects what is wrong with them.
class Reader {
 public:
  Reader(const json::object& object, json::array* errors) : object_(object), errors_(errors) {}

  /// Absent and null leave `out` as it is.
  void Text(const char* key, std::string* out) {
    const json::value* value = Present(key);
    if (value == nullptr) return;
    if (!value->is_string()) return Fail("string_type", key, "must be a string", value);
    *out = value->get_string();
  }

  template <size_t N>
  void Choice(const char* key, const std::array<const char*, N>& choices, std::string* out) {
    const json::value* value = Present(key);
    if (value == nullptr) return;
    std::string word;
    Text(key, &word);
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) {
      *out = word;
      return;
    }
    if (value->is_string())
      Fail("literal_error", key, "must be one of " + Join({choices.begin(), choices.end()}, ", "),
           value);
  }

  void Truth(const char* key, bool* out) {
    const json::value* value = Present(key);
    if (value == nullptr) return;
    if (!value->is_bool()) return Fail("bool_type", key, "must be true or false", value);
    *out = value->get_bool();
  }

  void Object(const char* key, json::object* out) {
    const json::value* value = Present(key);
    if (value == nullptr) return;
    if (!value->is_object()) return Fail("dict_type", key, "must be an object", value);
    *out = value->get_object();
  }

  [[nodiscard]] const json::value* Present(const char* key) const {
    const json::value* value = object_.if_contains(key);
    return value != nullptr && value->is_null() ? nullptr : value;
  }

  void Fail(std::string_view type, std::string_view key, std::string_view message,
            const json::value* input) {
    errors_->emplace_back(FieldError(type, {json::string(key)}, message, input));
  }

 private:
  const json::object& object_;
  json::array* errors_;
};

}  // namespace

json::object FieldError(std::string_view type, json::array location, std::string_view message,
                        const json::value* input) {
  json::object error{{"type", type}, {"loc", std::move(location)}, {"msg", message}};
  if (input == nullptr) return error;
  // What came is told back, but a megabyte of it helps nobody, and infinity has no JSON.
  const std::string text = json::serialize(*input);
  const bool fits = text.size() <= 256 && ParseJson(text).ok();
  error["input"] = fits ? *input : json::value(TruncateMiddle(text, 256));
  return error;
}

std::string Summary(const json::array& errors) {
  std::string summary;
  size_t shown = 0;
  for (const json::value& error : errors) {
    if (++shown > 4) {
      summary += fmt::format("; and {} more", errors.size() - 4);
      break;
    }
    if (!summary.empty()) summary += "; ";
    std::string where;
    for (const json::value& part : GetArray(error.as_object(), "loc")) {
      if (!where.empty()) where += '.';
      where += part.is_string() ? std::string(part.get_string()) : json::serialize(part);
    }
    summary += where + ": " + GetString(error.as_object(), "msg");
  }
  return CleanText(summary);
}

ParsedAction ParseAction(const json::value& data) {
  ParsedAction out;
  if (!data.is_object()) {
    out.errors.emplace_back(FieldError("model_type", {}, "an action must be an object", &data));
    return out;
  }
  const json::object& object = data.get_object();
  Action& action = out.action;
  Reader read(object, &out.errors);

  std::string op = "submit";
  read.Choice("op", kOps, &op);
  action.op = static_cast<Action::Op>(std::find(kOps.begin(), kOps.end(), op) - kOps.begin());
  const bool submits = action.op == Action::Op::kSubmit || action.op == Action::Op::kCheck;

  const bool has_code = read.Present("code") != nullptr;
  const bool has_source = read.Present("source") != nullptr;
  read.Text("code", &action.code);
  if (has_source && !has_code) read.Text("source", &action.code);
  if (has_source && has_code)
    read.Fail("extra_forbidden", "source", "another name of code; send one of them",
              object.if_contains("source"));
  if (!has_code && !has_source && submits)
    read.Fail("missing", "code", "required: the Python source of the submission", &data);

  read.Choice("language", kLanguages, &action.language);
  read.Text("entry_point", &action.entry_point);
  if (!IsIdentifier(action.entry_point))
    read.Fail("value_error", "entry_point", "must be the name of a Python class",
              object.if_contains("entry_point"));
  read.Text("task_id", &action.task_id);
  read.Text("ticket", &action.ticket);
  read.Truth("defer", &action.defer);
  read.Object("metadata", &action.metadata);
  if (json::serialize(action.metadata).size() > kMaxEcho) action.metadata.clear();

  size_t unknown = 0;
  for (const auto& [key, value] : object) {
    if (std::find(kMembers.begin(), kMembers.end(), std::string_view(key)) != kMembers.end())
      continue;
    if (++unknown <= 16)
      read.Fail("extra_forbidden", TruncateMiddle(std::string_view(key), 80),
                "no member of an action has this name", &value);
  }
  return out;
}

}  // namespace assay::openenv
