#include "kernelgym/request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "base/strings.h"

namespace assay::kernelgym {
namespace {

json::array Below(json::array place, json::value key) {
  place.push_back(std::move(key));
  return place;
}

/// Reads typed members of one object, noting what is wrong instead of stopping at the first.
class Fields {
 public:
  Fields(const json::object& object, const json::array& place, std::vector<Issue>* issues)
      : object_(object), place_(place), issues_(issues) {}

  void Add(std::string type, std::string_view key, std::string message) {
    issues_->push_back({std::move(type), Below(place_, json::string(key)), std::move(message)});
  }

  /// The member, or null where it is absent; null also where it is null and `nullable`.
  const json::value* Find(std::string_view key, bool required, bool nullable) {
    const json::value* value = object_.if_contains(key);
    if (value == nullptr && required) Add("missing", key, "Field required");
    if (value != nullptr && value->is_null() && nullable) return nullptr;
    return value;
  }

  bool String(std::string_view key, std::string* out, bool required = false) {
    const json::value* value = Find(key, required, false);
    return value != nullptr && ReadString(key, *value, out);
  }

  void String(std::string_view key, std::optional<std::string>* out) {
    const json::value* value = Find(key, false, true);
    std::string text;
    if (value != nullptr && ReadString(key, *value, &text)) *out = std::move(text);
  }

  void Choice(std::string_view key, std::string* out,
              std::initializer_list<std::string_view> choices) {
    const json::value* value = Find(key, false, false);
    if (value == nullptr) return;
    const std::string_view text =
        value->is_string() ? std::string_view(value->get_string()) : std::string_view();
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
      *out = text;
      return;
    }
    std::string known;
    size_t left = choices.size();
    for (const std::string_view choice : choices) {
      known += fmt::format("'{}'", choice);
      --left;
      if (left > 0) known += left == 1 ? " or " : ", ";
    }
    Add("enum", key, "Input should be " + known);
  }

  void Int(std::string_view key, int* out, int low, int high) {
    const json::value* value = Find(key, false, false);
    if (value == nullptr) return;
    const std::optional<int64_t> number = ReadInt(key, *value);
    if (!number) return;
    if (*number < low)
      Add("greater_than_equal", key,
          fmt::format("Input should be greater than or equal to {}", low));
    else if (*number > high)
      Add("less_than_equal", key, fmt::format("Input should be less than or equal to {}", high));
    else
      *out = static_cast<int>(*number);
  }

  void Bool(std::string_view key, bool* out) {
    const json::value* value = Find(key, false, false);
    if (value != nullptr) ReadBool(key, *value, out);
  }

  void Bool(std::string_view key, std::optional<bool>* out) {
    const json::value* value = Find(key, false, true);
    bool flag = false;
    if (value != nullptr && ReadBool(key, *value, &flag)) *out = flag;
  }

  void Object(std::string_view key, std::optional<json::object>* out) {
    const json::value* value = Find(key, false, true);
    if (value == nullptr) return;
    if (value->is_object())
      *out = value->get_object();
    else
      Add("dict_type", key, "Input should be a valid dictionary");
  }

  void Array(std::string_view key, std::optional<json::array>* out) {
    const json::value* value = Find(key, false, true);
    if (value == nullptr) return;
    if (value->is_array())
      *out = value->get_array();
    else
      Add("list_type", key, "Input should be a valid list");
  }

 private:
  bool ReadString(std::string_view key, const json::value& value, std::string* out) {
    if (!value.is_string()) {
      Add("string_type", key, "Input should be a valid string");
      return false;
    }
    *out = value.get_string();
    return true;
  }

  std::optional<int64_t> ReadInt(std::string_view key, const json::value& value) {
    if (value.is_bool()) return value.get_bool() ? 1 : 0;
    if (value.is_int64()) return value.get_int64();
    if (value.is_uint64()) return std::numeric_limits<int64_t>::max();  // beyond every limit
    if (value.is_double()) {
      const double number = value.get_double();
      if (number == std::floor(number) && std::abs(number) < 1e18)
        return static_cast<int64_t>(number);
      Add("int_from_float", key, "Input should be a valid integer, got a number with a fraction");
      return std::nullopt;
    }
    if (value.is_string()) {
      const std::string_view text = Trim(std::string_view(value.get_string()));
      int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size()) return number;
      Add("int_parsing", key, "Input should be a valid integer, unable to parse the string");
      return std::nullopt;
    }
    Add("int_type", key, "Input should be a valid integer");
    return std::nullopt;
  }

  bool ReadBool(std::string_view key, const json::value& value, bool* out) {
    if (value.is_bool()) {
      *out = value.get_bool();
      return true;
    }
    std::string text;
    if (value.is_string())
      text = ToLower(std::string_view(value.get_string()));
    else if (value.is_int64())
      text = std::to_string(value.get_int64());
    else if (value.is_double() && (value.get_double() == 0 || value.get_double() == 1))
      text = value.get_double() == 0 ? "0" : "1";
    for (const std::string_view yes : {"1", "true", "t", "yes", "y", "on"}) {
      if (text != yes) continue;
      *out = true;
      return true;
    }
    for (const std::string_view no : {"0", "false", "f", "no", "n", "off"}) {
      if (text != no) continue;
      *out = false;
      return true;
    }
    const bool scalar = value.is_string() || value.is_number();
    Add(scalar ? "bool_parsing" : "bool_type", key,
        scalar ? "Input should be a valid boolean, unable to interpret the value"
               : "Input should be a valid boolean");
    return false;
  }

  const json::object& object_;
  const json::array& place_;
  std::vector<Issue>* const issues_;
};

void CheckCode(std::string_view key, std::string_view code, Fields* fields) {
  if (CountCharacters(Trim(code)) < kMinCode)
    fields->Add("value_error", key,
                fmt::format("Code is too short: it needs {} characters or more", kMinCode));
  else if (CountCharacters(code) > kMaxCode)
    fields->Add("value_error", key,
                fmt::format("Code is too long: at most {} characters are taken", kMaxCode));
}

const std::string* Text(const std::optional<std::string>& text) { return text ? &*text : nullptr; }

/// `name` may be null: it is absent.
void CheckName(std::string_view key, const std::string* name, Fields* fields) {
  if (name != nullptr && CountCharacters(*name) > kMaxName)
    fields->Add("string_too_long", key,
                fmt::format("String should have at most {} characters", kMaxName));
}

void CheckTaskId(std::string_view key, const std::string& id, Fields* fields) {
  const size_t length = CountCharacters(id);
  if (length < 1)
    fields->Add("string_too_short", key, "String should have at least 1 character");
  else if (length > kMaxTaskId)
    fields->Add("string_too_long", key,
                fmt::format("String should have at most {} characters", kMaxTaskId));
  else if (CleanText(id) != id || id.find_first_of("\n\t") != std::string::npos)
    fields->Add("value_error", key, "A task id has no control characters");
}

EvaluationRequest ReadObject(const json::object& body, const json::array& place,
                             std::vector<Issue>* issues) {
  EvaluationRequest out;
  Fields fields(body, place, issues);
  if (fields.String("task_id", &out.task_id, true)) CheckTaskId("task_id", out.task_id, &fields);
  fields.String("reference_code", &out.reference_code);
  if (out.reference_code) CheckCode("reference_code", *out.reference_code, &fields);
  if (fields.String("kernel_code", &out.kernel_code, true))
    CheckCode("kernel_code", out.kernel_code, &fields);
  fields.String("toolkit", &out.toolkit);
  fields.String("backend_adapter", &out.backend_adapter);
  fields.Choice("backend", &out.backend, {"cuda", "triton"});
  fields.Int("num_correct_trials", &out.num_correct_trials, 1, 20);
  fields.Int("num_perf_trials", &out.num_perf_trials, 1, 1000);
  fields.Int("num_warmup", &out.num_warmup, 0, 100);
  fields.Int("timeout", &out.timeout, 10, 3600);
  fields.Choice("priority", &out.priority, {"low", "normal", "high"});
  fields.String("device_preference", &out.device_preference);
  fields.Bool("force_refresh", &out.force_refresh);
  fields.String("entry_point", &out.entry_point);
  fields.String("reference_backend", &out.reference_backend);
  fields.String("uuid", &out.uuid);
  fields.Bool("use_reference_cache", &out.use_reference_cache);
  fields.Bool("is_valid", &out.is_valid);
  fields.Bool("verbose_errors", &out.verbose_errors);
  fields.Bool("enable_profiling", &out.enable_profiling);
  fields.Bool("enable_triton_detection", &out.enable_triton_detection);
  fields.Bool("measure_performance", &out.measure_performance);
  fields.Bool("run_correctness", &out.run_correctness);
  fields.Bool("run_triton_detection", &out.run_triton_detection);
  fields.Bool("run_performance", &out.run_performance);
  fields.Bool("detect_decoy_kernel", &out.detect_decoy_kernel);
  fields.String("cases_code", &out.cases_code);
  if (out.cases_code && CountCharacters(*out.cases_code) > kMaxCode)
    CheckCode("cases_code", *out.cases_code, &fields);
  fields.Array("cases", &out.cases);
  if (out.cases && out.cases->size() > kMaxCases)
    fields.Add("too_long", "cases", fmt::format("List should have at most {} items", kMaxCases));
  std::optional<std::string> workflow;
  fields.String("workflow", &workflow);
  if (workflow) out.workflow = ToLower(Trim(*workflow));
  fields.Object("resources", &out.resources);
  if (out.resources && json::serialize(*out.resources).size() > kMaxResources)
    fields.Add("too_long", "resources",
               fmt::format("Dictionary should have at most {} bytes", kMaxResources));
  using Name = std::pair<const char*, const std::string*>;
  for (const auto& [key, text] :
       {Name("toolkit", &out.toolkit), Name("backend_adapter", &out.backend_adapter),
        Name("entry_point", &out.entry_point), Name("workflow", &out.workflow),
        Name("device_preference", Text(out.device_preference)),
        Name("reference_backend", Text(out.reference_backend)), Name("uuid", Text(out.uuid))})
    CheckName(key, text, &fields);
  if (out.workflow == "kernelbench" && !out.reference_code) {
    const json::value* given = body.if_contains("reference_code");
    if (given == nullptr || given->is_null())
      fields.Add("value_error", "reference_code",
                 "reference_code is required by the workflow kernelbench");
  }
  return out;
}

}  // namespace

size_t CountValues(std::string_view text) {
  size_t count = 1;
  bool inside = false;  // of a string
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '\\')
      ++i;
    else if (c == '"')
      inside = !inside;
    else if (!inside && (c == ',' || c == '[' || c == '{'))
      ++count;
  }
  return count;
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool IsIdentifier(std::string_view name) {
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

EvaluationRequest ReadEvaluation(const json::value& body, const json::array& place,
                                 std::vector<Issue>* issues) {
  if (!body.is_object()) {
    issues->push_back({"model_attributes_type", place, "Input should be an object"});
    return {};
  }
  return ReadObject(body.get_object(), place, issues);
}

BatchRequest ReadBatch(const json::value& body, std::vector<Issue>* issues) {
  const json::array place = {"body"};
  BatchRequest out;
  if (!body.is_object()) {
    issues->push_back({"model_attributes_type", place, "Input should be an object"});
    return out;
  }
  Fields fields(body.get_object(), place, issues);
  if (fields.String("batch_id", &out.batch_id, true)) CheckName("batch_id", &out.batch_id, &fields);
  const json::value* tasks = fields.Find("tasks", true, false);
  if (tasks == nullptr) return out;
  if (!tasks->is_array()) {
    fields.Add("list_type", "tasks", "Input should be a valid list");
    return out;
  }
  const json::array& items = tasks->get_array();
  if (items.empty()) fields.Add("too_short", "tasks", "List should have at least 1 item");
  if (items.size() > kMaxBatch) {
    fields.Add("too_long", "tasks", fmt::format("List should have at most {} items", kMaxBatch));
    return out;
  }
  const json::array inside = Below(place, "tasks");
  for (size_t i = 0; i < items.size(); ++i)
    out.tasks.push_back(ReadEvaluation(items[i], Below(inside, i), issues));
  return out;
}

EvaluationRequest ReadWorkflow(const json::value& body, std::vector<Issue>* issues) {
  const json::array place = {"body"};
  if (!body.is_object()) {
    issues->push_back({"model_attributes_type", place, "Input should be an object"});
    return {};
  }
  Fields fields(body.get_object(), place, issues);
  std::string workflow = "kernelbench";
  fields.String("workflow", &workflow);
  std::optional<json::object> payload;
  fields.Object("payload", &payload);
  if (!payload) payload.emplace();
  std::optional<std::string> task_id;
  fields.String("task_id", &task_id);
  bool force_refresh = false;
  fields.Bool("force_refresh", &force_refresh);
  std::optional<json::object> resources;
  fields.Object("resources", &resources);
  if (!issues->empty()) return {};

  // The outer members govern; the payload's own resources are the more specific ones.
  if (task_id) (*payload)["task_id"] = *task_id;
  (*payload)["workflow"] = workflow;
  if (force_refresh) (*payload)["force_refresh"] = true;
  if (resources && !payload->contains("resources")) (*payload)["resources"] = *resources;
  return ReadObject(*payload, {"body", "payload"}, issues);
}

}  // namespace assay::kernelgym
