#include "worker/judge.h"

#include <cmath>

#include "base/log.h"
#include "base/strings.h"

namespace assay {
namespace {

Quietness ReadQuiet(const json::object& body) {
  Quietness quiet;
  quiet.gap_us = GetDouble(body, "gap_us");
  quiet.delay_us = GetDouble(body, "delay_us");
  quiet.after_us = GetDouble(body, "after_us");
  quiet.held_us = GetDouble(body, "held_us");
  quiet.held_lost_us = GetDouble(body, "held_lost_us");
  quiet.hold = static_cast<uint32_t>(GetInt(body, "hold"));
  // Python's time.monotonic_ns and this clock are one (CLOCK_MONOTONIC).
  quiet.idle = TimePoint(std::chrono::nanoseconds(GetInt(body, "idle_ns")));
  return quiet;
}

Comparison ReadComparison(const json::object& body) {
  Comparison result;
  result.passed = GetBool(body, "passed");
  result.inputs_changed = GetBool(body, "inputs_changed");
  result.outside = GetString(body, "outside");
  result.max_abs_err = GetDouble(body, "max_abs_err");
  result.max_rel_err = GetDouble(body, "max_rel_err");
  result.mismatch_fraction = GetDouble(body, "mismatch_fraction");
  result.tolerance = GetDouble(body, "tolerance");
  result.reference = GetString(body, "reference");
  const json::object& worst = GetObject(body, "worst");
  result.pattern = GetString(worst, "pattern");
  const auto figure = [&](const char* key) {
    const double number = GetDouble(body, key, -1);
    return number >= 0 ? std::optional(number) : std::nullopt;
  };
  result.bits = figure("bits");
  result.reference_bits = figure("reference_bits");
  if (body.contains("kernelbench")) result.kernelbench = GetBool(body, "kernelbench");
  result.kernelbench_tolerance = GetDouble(body, "kernelbench_tolerance");
  if (worst.contains("first_bad") && worst.at("first_bad").is_array()) {
    result.bad_output = static_cast<int>(GetInt(worst, "output"));
    for (const json::value& i : worst.at("first_bad").get_array())
      result.bad_index.push_back(i.is_int64() ? i.get_int64() : 0);
    // JSON has no NaN; the judge spells such values.
    const auto number = [&](const char* key) {
      const std::string text = GetString(worst, key);
      return text.empty() ? GetDouble(worst, key) : std::strtod(text.c_str(), nullptr);
    };
    result.got = number("got");
    result.expected = number("expected");
  }
  return result;
}

}  // namespace

Status Judge::EnsureRunning() {
  const std::lock_guard guard(mutex_);
  if (process_ && process_->Alive()) return {};
  ASSAY_ASSIGN_OR_RETURN(process_, zygote_->Fork(Role::kJudge, kDefaultConnections, nullptr));
  Result<json::object> ready = WaitReady(process_.get(), DeadlineIn(Seconds(limits_.warm_s)));
  if (!ready.ok()) {
    process_.reset();
    return ready.error();
  }
  l2_bytes_ = static_cast<uint64_t>(GetInt(*ready, "l2_bytes"));
  return {};
}

Result<Message> Judge::Call(const json::object& request) {
  const std::lock_guard guard(mutex_);
  if (!process_) return Err(ErrorCode::kClosed, "the judge is not running");
  const TimePoint start = Clock::now();
  Result<Message> reply = process_->Call(request, {}, DeadlineIn(Seconds(limits_.judge_s)));
  if (!reply.ok()) {
    process_->Kill();  // whatever state it is in, it is not one to trust
    return Err(reply.error().code, "the judge failed in '{}': {}", GetString(request, "op"),
               reply.error().message);
  }
  LogDebug("judge: {} took {:.2f} ms, {:.2f} ms with the way there and back",
           GetString(request, "op"), GetDouble(reply->body, "ms"), MillisecondsSince(start));
  if (!GetBool(reply->body, "ok")) {
    const std::string error = GetString(reply->body, "error", "no reason given");
    // A broken CUDA context stays broken for the life of the process.
    if (error.find("CUDA error") != std::string::npos) process_->Kill();
    return Err(ErrorCode::kInternal, "the judge could not do '{}': {}", GetString(request, "op"),
               error);
  }
  return reply;
}

Result<TaskShape> Judge::Examine(int lane, const Task& task, const std::string& size,
                                 const std::string& precision) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "examine"},
                                                    {"lane", lane},
                                                    {"source", task.source},
                                                    {"sha256", task.sha256},
                                                    {"entry", task.entry},
                                                    {"size", size},
                                                    {"precision", precision}}));
  TaskShape shape;
  shape.input_bytes = static_cast<uint64_t>(GetInt(reply.body, "input_bytes"));
  shape.output_bytes = static_cast<uint64_t>(GetInt(reply.body, "output_bytes"));
  shape.state_bytes = static_cast<uint64_t>(GetInt(reply.body, "state_bytes"));
  shape.reference_us = GetDouble(reply.body, "reference_us");
  shape.outputs = static_cast<int>(GetInt(reply.body, "outputs", 1));
  shape.forward_inputs = static_cast<int>(GetInt(reply.body, "forward_inputs", -1));
  shape.writes_inputs = GetBool(reply.body, "writes_inputs");
  shape.draws = static_cast<int>(GetInt(reply.body, "draws"));
  shape.general_shapes = GetBool(reply.body, "general_shapes");
  shape.same_inputs = GetBool(reply.body, "same_inputs");
  shape.constant_inputs = GetBool(reply.body, "constant_inputs");
  shape.precision = GetString(reply.body, "precision");
  if (const json::array& families = GetArray(reply.body, "families"); !families.empty()) {
    shape.families.clear();
    for (const json::value& family : families)
      if (family.is_string()) shape.families.emplace_back(family.get_string());
  }
  const json::object& trace = GetObject(reply.body, "work");
  Result<Work> work = ReadWork(trace);
  if (work.ok())
    shape.work = *std::move(work);
  else
    LogDebug("{} has no roofline: {}", task.id,
             GetString(trace, "error", work.error().message.c_str()));
  return shape;
}

Result<json::object> Judge::Screen(const Task& task, const std::string& size, double limit_s) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "screen"},
                                                    {"sha256", task.sha256},
                                                    {"entry", task.entry},
                                                    {"size", size},
                                                    {"precision", ""},
                                                    {"limit_s", limit_s}}));
  return GetObject(reply.body, "health");
}

Status Judge::TryPrecisions(const Task& task, const std::string& size,
                            const std::string& precision) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "precisions"},
                                                    {"sha256", task.sha256},
                                                    {"entry", task.entry},
                                                    {"size", size},
                                                    {"precision", precision}}));
  static_cast<void>(reply);
  return {};
}

Result<DeviceFacts> Judge::Facts() {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "facts"}}));
  DeviceFacts facts;
  facts.name = GetString(reply.body, "name");
  facts.compute = static_cast<int>(GetInt(reply.body, "compute"));
  facts.multiprocessors = static_cast<int>(GetInt(reply.body, "multiprocessors"));
  facts.clock_ghz = GetDouble(reply.body, "clock_ghz");
  facts.dram_gbs = GetDouble(reply.body, "dram_gbs");
  facts.l2_bytes = GetDouble(reply.body, "l2_bytes");
  return facts;
}

Result<LaneArena> Judge::Open(int lane, const LaneNeeds& needs) {
  ASSAY_ASSIGN_OR_RETURN(Message reply, Call({{"op", "open"},
                                              {"lane", lane},
                                              {"slots", needs.slots},
                                              {"warm", needs.warm},
                                              {"baselines", needs.baselines},
                                              {"need_bytes", needs.bytes},
                                              {"frugal", needs.frugal},
                                              {"budget_bytes", needs.budget_bytes}}));
  if (reply.fds.size() != 3 + needs.baselines)
    return Err(ErrorCode::kInternal, "the judge sent {} descriptors, not {}", reply.fds.size(),
               3 + needs.baselines);
  reply.body.erase("ok");
  reply.body.erase("ms");
  LaneArena arena{std::move(reply.body),
                  std::move(reply.fds[0]),
                  std::move(reply.fds[1]),
                  std::move(reply.fds[2]),
                  {},
                  true};
  for (size_t i = 3; i < reply.fds.size(); ++i)
    arena.baseline_outputs.push_back(std::move(reply.fds[i]));
  return arena;
}

Result<json::object> Judge::Shapes(int lane, const std::string& task_sha256) {
  {
    const std::lock_guard guard(untried_mutex_);
    if (untried_.contains(task_sha256)) return json::object();
  }
  const Result<Message> reply = Call({{"op", "shapes"}, {"lane", lane}});
  if (reply.ok()) return GetObject(reply->body, "shapes");
  const std::lock_guard guard(untried_mutex_);
  untried_.insert(task_sha256);
  return reply.error();
}

Status Judge::Weights(int lane, uint64_t seed) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply,
                         Call({{"op", "weights"}, {"lane", lane}, {"seed", seed}}));
  static_cast<void>(reply);
  return {};
}

Result<Quietness> Judge::Fill(int lane, uint32_t first, std::span<const uint64_t> seeds,
                              uint64_t quiet_ns, uint64_t hold_ns, std::string_view family,
                              std::span<const uint32_t> rare, int process) {
  json::array list(seeds.begin(), seeds.end());
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "fill"},
                                                    {"lane", lane},
                                                    {"first", first},
                                                    {"seeds", std::move(list)},
                                                    {"family", family},
                                                    {"rare", json::array(rare.begin(), rare.end())},
                                                    {"process", process},
                                                    {"quiet_ns", quiet_ns},
                                                    {"hold_ns", hold_ns}}));
  return ReadQuiet(reply.body);
}

Result<Quietness> Judge::Flush(int lane, uint32_t first, uint32_t calls, uint64_t quiet_ns,
                               uint64_t hold_ns, int process) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "flush"},
                                                    {"lane", lane},
                                                    {"first", first},
                                                    {"calls", calls},
                                                    {"process", process},
                                                    {"quiet_ns", quiet_ns},
                                                    {"hold_ns", hold_ns}}));
  return ReadQuiet(reply.body);
}

Status Judge::Release(uint32_t hold) {
  const std::lock_guard guard(mutex_);
  if (!process_) return Err(ErrorCode::kClosed, "the judge is not running");
  if (process_->ReleaseHold(hold, DeadlineIn(Seconds(limits_.release_s)))) return {};
  process_->Kill();
  return Err(ErrorCode::kTimeout, "the judge's hold of the device did not end");
}

void Judge::AskForLook(uint32_t hold) {
  const std::lock_guard guard(mutex_);
  if (process_) process_->AskForLook(hold);
}

Status Judge::Expect(int lane, uint32_t slot) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply,
                         Call({{"op", "expect"}, {"lane", lane}, {"slot", slot}}));
  static_cast<void>(reply);
  return {};
}

Result<Comparison> Judge::Verify(int lane, uint32_t slot, const ResultPlaces& results, bool exact,
                                 uint64_t quiet_ns, Quietness* quiet) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "verify"},
                                                    {"lane", lane},
                                                    {"slot", slot},
                                                    {"places", json::value_from(results.places)},
                                                    {"strides", json::value_from(results.strides)},
                                                    {"exact", exact},
                                                    {"quiet_ns", quiet_ns}}));
  if (quiet != nullptr) *quiet = ReadQuiet(reply.body);
  return ReadComparison(GetObject(reply.body, "result"));
}

Status Judge::EraseOutputs(int lane) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "erase_outputs"}, {"lane", lane}}));
  static_cast<void>(reply);
  return {};
}

Status Judge::Remember(int lane, uint32_t slot) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply,
                         Call({{"op", "remember"}, {"lane", lane}, {"slot", slot}}));
  static_cast<void>(reply);
  return {};
}

Result<bool> Judge::Repeated(int lane, uint32_t slot) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply,
                         Call({{"op", "repeated"}, {"lane", lane}, {"slot", slot}}));
  return GetBool(reply.body, "same", false);
}

Result<KeptCall> Judge::Keep(int lane, uint32_t slot, const ResultPlaces& results,
                             uint64_t quiet_ns, Quietness* quiet) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "keep"},
                                                    {"lane", lane},
                                                    {"slot", slot},
                                                    {"places", json::value_from(results.places)},
                                                    {"strides", json::value_from(results.strides)},
                                                    {"quiet_ns", quiet_ns}}));
  *quiet = ReadQuiet(reply.body);
  return KeptCall{GetBool(reply.body, "kept"), GetString(reply.body, "outside")};
}

Result<Comparison> Judge::VerifyKept(int lane, Seconds limit, int* count) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply,
                         Call({{"op", "verify_kept"}, {"lane", lane}, {"limit_s", limit.count()}}));
  *count = static_cast<int>(GetInt(reply.body, "count"));
  if (*count <= 0)
    return Err(ErrorCode::kInternal, "the judge has lost calls that were to be verified");
  return ReadComparison(GetObject(reply.body, "result"));
}

Result<Comparison> Judge::VerifyDraws(int lane, uint32_t first, uint32_t count, bool last) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply, Call({{"op", "verify_draws"},
                                                    {"lane", lane},
                                                    {"first", first},
                                                    {"count", count},
                                                    {"last", last}}));
  return ReadComparison(GetObject(reply.body, "result"));
}

Status Judge::Close(int lane, bool unshared) {
  ASSAY_ASSIGN_OR_RETURN(const Message reply,
                         Call({{"op", "close"}, {"lane", lane}, {"unshared", unshared}}));
  static_cast<void>(reply);
  return {};
}

}  // namespace assay
