#include <algorithm>
#include <mutex>
#include <utility>

#include "base/strings.h"
#include "kernelgym/service.h"
#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

constexpr const char* kStillJudged =
    "The task is still being judged. It is not lost: send the same request again, or poll "
    "/status/{} and fetch /results/{}.";

constexpr const char* kKept =
    "The server stops. The task is kept and will be judged after the next start: send the same "
    "request again then, or poll /status/{} and fetch /results/{}.";

constexpr const char* kBatchStillJudged =
    "The batch is still being judged. Nothing is lost: send it again, and what is done is answered "
    "at once.";

constexpr const char* kBatchKept =
    "The server stops. Nothing is lost: what was accepted is kept and will be judged after the "
    "next start. Send the batch again then.";

/// Between two looks for room in the queue, at most: one also sees that the server stops.
constexpr Seconds kLongestNap{2};

json::object ClassReport(const std::string& error, const std::string& entry) {
  return {{"valid", error.empty()},
          {"error", error.empty() ? json::value(nullptr) : json::value(error)},
          {"entry_point", entry}};
}

template <typename T>
json::value OrNull(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

/// A task of a batch, which was read before and found to be right.
EvaluationRequest ReadAgain(const std::string& text) {
  const Result<json::value> task = ParseJson(text);
  std::vector<Issue> issues;
  return task.ok() ? ReadEvaluation(*task, {}, &issues) : EvaluationRequest();
}

/// The message of a refusal in {"detail": ...}.
std::string DetailOf(const http::Response& response) {
  const Result<json::object> body = ParseJsonObject(response.body);
  return body.ok() ? GetString(*body, "detail") : response.body;
}

/// A task of a batch that was not taken, as an item of the answer.
json::object ItemOf(TaskRecord record, const http::Response& refusal) {
  record.refusal = fmt::format("{}: {}", refusal.status, DetailOf(refusal));
  Outcome outcome = Refused(record);
  if (refusal.status >= 500) {  // not the task's fault: no numbers that look like a score
    outcome = {};
    outcome.status = "failed";
    outcome.error_message = record.refusal;
    outcome.error_code = kSystemError;
    outcome.origin = Origin::kInfrastructure;
  }
  return EvaluationAnswer(record, nullptr, outcome);
}

}  // namespace

http::Response Service::Answer(const TaskRecord& record, const Job* job, Form form) const {
  if (job == nullptr && !record.job_id.empty())
    return ComeAgain(503, fmt::format(fmt::runtime(kStillJudged), record.id(), record.id()),
                     kSystemError, 1);
  if (job != nullptr && job->state != JobState::kDone)
    return ComeAgain(503, fmt::format(fmt::runtime(kKept), record.id(), record.id()), kSystemError,
                     context_.jobs->retry_after_s());
  const Outcome outcome = tasks_.OutcomeOf(record, job);
  json::object body = form(record, job, outcome);
  if (!outcome.infrastructure()) return http::Response::Json(body);
  // Not 200: a client that reads only the numbers would score a broken machine as a bad kernel.
  http::Response response =
      ComeAgain(503, outcome.error_message, kSystemError, context_.jobs->retry_after_s());
  body["detail"] = outcome.error_message;
  response.body = json::serialize(body);
  return response;
}

void Service::AnswerWhenDone(Tasks::Accepted accepted, Form form, const http::Reply& reply) {
  if (accepted.refused) return reply(*std::move(accepted.refused));
  const TaskRecord record = std::move(accepted.record);
  if (record.job_id.empty()) return reply(Answer(record, nullptr, form));
  tasks_.waits().Await(record.job_id, Seconds(context_.max_wait_s),
                       [weak = weak_from_this(), record, form, reply](const Job* job) {
                         if (const auto self = weak.lock()) reply(self->Answer(record, job, form));
                       });
}

void Service::Judge(const std::string& owner, EvaluationRequest task, Form form,
                    const http::Reply& reply) {
  tasks_.Accept(owner, std::move(task),
                [self = shared_from_this(), form, reply](Tasks::Accepted accepted) {
                  self->AnswerWhenDone(std::move(accepted), form, reply);
                });
}

void Service::Evaluate(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  const std::optional<json::value> body = ReadBody(request, &issues);
  EvaluationRequest task;
  if (body) task = ReadEvaluation(*body, {"body"}, &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  task.request_id = request.id;
  Judge(request.who.key_name, std::move(task), EvaluationAnswer, reply);
}

void Service::SubmitWorkflow(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  const std::optional<json::value> body = ReadBody(request, &issues);
  if (body && body->is_object()) {
    const json::object& object = body->get_object();
    const auto given = [](const json::object& where) {
      const json::value* id = where.if_contains("task_id");
      return id != nullptr && !id->is_null();
    };
    if (!given(object) && !given(GetObject(object, "payload")))
      return reply(Detail(400, "task_id is required", kValidationError));
  }
  EvaluationRequest task;
  if (body) task = ReadWorkflow(*body, &issues);
  // A name that nobody has goes before what only the workflow of that name could say.
  if (const std::string wrong = CheckNames(task); body && !wrong.empty())
    return reply(Detail(400, wrong, kValidationError));
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  task.request_id = request.id;
  Judge(request.who.key_name, std::move(task), WorkflowAnswer, reply);
}

/// A batch under way. Its tasks are submitted one after another as fast as the disk takes them and
/// judged side by side; where the queue is full the rest waits for its own tasks to end.
struct Service::Batch {
  std::string owner;
  std::string batch_id;
  std::string request_id;
  http::Reply reply;
  double submitted_at = 0;
  double deadline = 0;

  std::mutex mutex;
  /// Each until it is submitted; as text, since its cases take ten times the memory when parsed.
  std::vector<std::string> tasks;
  std::vector<std::optional<json::object>> items;
  size_t next = 0;     ///< first task not yet submitted
  size_t running = 0;  ///< submitted, not yet ended
  size_t ended = 0;
  bool submitting = false;  ///< `next` is on its way
  bool answered = false;
  std::shared_ptr<void> timer;
};

void Service::EvaluateBatch(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  const std::optional<json::value> body = ReadBody(request, &issues);
  BatchRequest read;
  if (body) read = ReadBatch(*body, &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  std::vector<std::string> tasks;
  for (const json::value& task : body->at("tasks").get_array())
    tasks.push_back(json::serialize(task));
  auto batch = std::make_shared<Batch>();
  batch->owner = request.who.key_name;
  batch->batch_id = std::move(read.batch_id);
  batch->request_id = request.id;
  batch->reply = reply;
  batch->submitted_at = Now();
  batch->deadline = Now() + context_.max_wait_s;
  batch->tasks = std::move(tasks);
  batch->items.resize(batch->tasks.size());
  Pump(batch);
}

void Service::Pump(const std::shared_ptr<Batch>& batch) {
  std::unique_lock lock(batch->mutex);
  if (batch->submitting || batch->answered) return;
  if (batch->ended == batch->tasks.size()) {
    batch->answered = true;
    lock.unlock();
    return FinishBatch(batch);
  }
  if (batch->next == batch->tasks.size()) return;
  batch->submitting = true;
  const size_t index = batch->next;
  EvaluationRequest task;
  {
    const std::string text = batch->tasks[index];
    lock.unlock();
    task = ReadAgain(text);
    task.request_id = batch->request_id;
  }
  tasks_.Accept(batch->owner, std::move(task),
                [self = shared_from_this(), batch, index](Tasks::Accepted accepted) {
                  self->Took(batch, index, std::move(accepted));
                });
}

/// The next task of a batch was submitted, or was not.
void Service::Took(const std::shared_ptr<Batch>& batch, size_t index, Tasks::Accepted accepted) {
  const bool full = accepted.refused && accepted.refused->status == 429;
  {
    std::unique_lock lock(batch->mutex);
    batch->submitting = false;
    if (batch->answered) return;
    if (accepted.refused && context_.jobs->draining()) {
      lock.unlock();
      return Interrupt(batch);
    }
    if (full && batch->running > 0) return;  // goes on when one of its own ends
    if (full && index == 0) {
      batch->answered = true;
      lock.unlock();
      return batch->reply(*std::move(accepted.refused));
    }
    if (full) {
      lock.unlock();
      return PumpLater(batch);
    }
    batch->tasks[index] = std::string();  // the job has it now; {} would keep its memory
    ++batch->next;
    ++batch->running;
  }
  const TaskRecord& record = accepted.record;
  if (accepted.refused) {
    TaskRecord refused;
    refused.request.task_id = record.id();
    refused.submitted_at = Now();
    return Place(batch, index, ItemOf(refused, *accepted.refused));
  }
  if (record.job_id.empty())
    return Place(batch, index, EvaluationAnswer(record, nullptr, Refused(record)));
  tasks_.waits().Await(record.job_id, Seconds(std::max(0.0, batch->deadline - Now())),
                       [weak = weak_from_this(), batch, index, record](const Job* job) {
                         const auto self = weak.lock();
                         if (!self) return;
                         if (job == nullptr || job->state != JobState::kDone)
                           return self->Interrupt(batch);
                         self->Place(
                             batch, index,
                             EvaluationAnswer(record, job, self->tasks_.OutcomeOf(record, job)));
                       });
  Pump(batch);
}

void Service::PumpLater(const std::shared_ptr<Batch>& batch) {
  {
    const std::lock_guard lock(sleeping_mutex_);
    sleeping_.insert(batch);  // no task of its own keeps it alive now
  }
  batch->timer = context_.timers->After(
      std::min(kLongestNap, Seconds(std::max(1.0, context_.jobs->retry_after_of(batch->owner)))),
      [weak = weak_from_this(), held = std::weak_ptr<Batch>(batch)] {
        const auto self = weak.lock();
        const auto alive = held.lock();
        if (!self || !alive) return;
        {
          const std::lock_guard lock(self->sleeping_mutex_);
          self->sleeping_.erase(alive);
        }
        self->Pump(alive);
      });
}

void Service::Place(const std::shared_ptr<Batch>& batch, size_t index, json::object item) {
  {
    const std::lock_guard lock(batch->mutex);
    batch->items[index] = std::move(item);
    --batch->running;
    ++batch->ended;
  }
  Pump(batch);
}

/// Its time has passed, or the server stops: the client may have the rest when it comes again.
void Service::Interrupt(const std::shared_ptr<Batch>& batch) {
  {
    const std::lock_guard lock(batch->mutex);
    if (std::exchange(batch->answered, true)) return;
    batch->tasks.clear();
  }
  const bool stops = context_.jobs->draining();
  batch->reply(ComeAgain(503, stops ? kBatchKept : kBatchStillJudged, kSystemError,
                         stops ? context_.jobs->retry_after_s() : 1));
}

void Service::FinishBatch(const std::shared_ptr<Batch>& batch) {
  json::array items;
  size_t failed = 0;
  for (std::optional<json::object>& item : batch->items) {
    if (item->at("status") != json::value("completed")) ++failed;
    items.emplace_back(*std::move(item));
  }
  const size_t total = items.size();
  batch->reply(http::Response::Json({{"batch_id", batch->batch_id},
                                     {"total_tasks", total},
                                     {"completed_tasks", total - failed},
                                     {"failed_tasks", failed},
                                     {"results", std::move(items)},
                                     {"batch_status", "completed"},
                                     {"submitted_at", Timestamp(batch->submitted_at)},
                                     {"completed_at", Timestamp(Now())}}));
}

void Service::Validate(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  const std::optional<json::value> body = ReadBody(request, &issues);
  EvaluationRequest task;
  if (body) task = ReadEvaluation(*body, {"body"}, &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  if (const std::string wrong = CheckNames(task); !wrong.empty())
    return reply(Detail(400, wrong, kValidationError));
  const Plan plan = MakePlan(task, {});
  json::array errors;
  if (!plan.refusal.empty()) errors.emplace_back(plan.refusal);
  json::object report = {{"valid", plan.refusal.empty()}, {"errors", std::move(errors)}};
  const std::string entry = task.simple() ? EntryOfSimple(task) : task.entry_point + "New";
  report["kernel"] = ClassReport(CheckClass("Kernel", task.kernel_code, entry), entry);
  if (!task.simple()) {
    report["reference"] = ClassReport(
        CheckClass("Reference", *task.reference_code, task.entry_point), task.entry_point);
    report["cache"] = {{"use_reference_cache", task.use_reference_cache},
                       {"uuid", OrNull(task.uuid)}};
    report["resources"] = task.resources.value_or(json::object());
  } else {
    report["cases_source"] = plan.cases_source;
  }
  report["task_id"] = task.task_id;
  report["workflow"] = task.workflow;
  report["request_info"] = {{"backend", task.backend},
                            {"num_correct_trials", task.num_correct_trials},
                            {"num_perf_trials", task.num_perf_trials},
                            {"timeout", task.timeout},
                            {"priority", task.priority},
                            {"device_preference", OrNull(task.device_preference)},
                            {"force_refresh", task.force_refresh},
                            {"workflow", task.workflow}};
  reply(http::Response::Json(report));
}

}  // namespace assay::kernelgym
