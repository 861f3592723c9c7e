#include "kernelgym/tasks.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/log_request.h"
#include "base/strings.h"
#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

constexpr std::string_view kKey = "kernelgym:";

std::string DocumentId(const std::string& owner, const std::string& id) { return owner + "/" + id; }

/// Names one judgement: "kernelgym:<generation>:<what is judged, and its time limit>:<id>". A
/// client that repeats a request because the answer got lost, or the server died before its record
/// was written, gets the same job. An id that cannot stand in a key is ":<hash>".
std::string Idempotency(const TaskRecord& record) {
  const std::string& id = record.id();
  const bool plain = !id.starts_with(':') && std::all_of(id.begin(), id.end(), [](char c) {
    return c >= 0x20 && c < 0x7f;
  });
  const std::string what = Sha256Hex(fmt::format("{} {}", record.content, record.request.timeout));
  return fmt::format("{}{}:{}:{}", kKey, record.generation, what.substr(0, 16),
                     plain ? id : ":" + Sha256Hex(id));
}

PlanOptions OptionsFor(const KernelGymContext& context) {
  PlanOptions options;
  if (context.workers)
    for (WorkerInfo& worker : context.workers())
      options.devices.push_back(std::move(worker.device));
  return options;
}

}  // namespace

std::string CheckNames(const EvaluationRequest& request) {
  const auto known = [](const std::string& name) {
    return name == "kernelbench" || name == "kernel_simple";
  };
  const auto missing = [](std::string_view kind, const std::string& name, std::string_view have) {
    return fmt::format("'Registry missing {}: {} (there is {})'", kind,
                       TruncateMiddle(CleanText(name), 100), have);
  };
  if (!known(request.workflow))
    return missing("workflow", request.workflow, "kernelbench, kernel_simple");
  if (!known(request.toolkit))
    return missing("toolkit", request.toolkit, "kernelbench, kernel_simple");
  if (request.backend_adapter != "kernelbench")
    return missing("backend", request.backend_adapter, "kernelbench");
  return "";
}

Tasks::Tasks(const KernelGymContext* context)
    : context_(context), waits_(context->jobs, context->timers) {}

void Tasks::Accept(const std::string& owner, EvaluationRequest request, Done done) {
  Accepted accepted;
  if (const std::string wrong = CheckNames(request); !wrong.empty()) {
    accepted.refused = Detail(400, wrong, kValidationError);
    accepted.record.request.task_id = std::move(request.task_id);
    return done(std::move(accepted));
  }
  const std::string content = ContentOf(request);
  std::optional<TaskRecord> known = Load(owner, request.task_id);
  if (known && known->content == content && StillGood(*known, request)) {
    accepted.record = *std::move(known);
    return done(std::move(accepted));
  }
  TaskRecord& record = accepted.record;
  record.owner = owner;
  record.content = content;
  record.generation = known ? known->generation + 1 : 1;
  record.submitted_at = context_->now();

  Plan plan = MakePlan(request, OptionsFor(*context_));
  record.refusal = plan.refusal;
  record.cases_source = plan.cases_source;
  record.num_cases = plan.num_cases;
  record.notes = plan.notes;
  plan.job.request_id = request.request_id;
  record.request = std::move(request);
  record.request.kernel_code.clear();
  record.request.reference_code.reset();
  record.request.cases_code.reset();
  record.request.cases.reset();
  if (!record.refusal.empty()) return Store(std::move(accepted), std::move(done));

  plan.job.owner = owner;
  plan.job.idempotency = Idempotency(record);
  context_->jobs->SubmitThen(std::move(plan.job), [this, accepted = std::move(accepted),
                                                   done](const Result<SharedJob>& job) {
    Accepted now = accepted;
    Submitted(job, &now);
    if (now.refused) return done(std::move(now));
    Store(std::move(now), done);
  });
}

void Tasks::Store(Accepted accepted, Done done) {
  json::object document = ToJson(accepted.record);
  const std::string id = DocumentId(accepted.record.owner, accepted.record.id());
  context_->documents->PutThen(
      kTaskDocuments, id, std::move(document),
      [this, accepted = std::move(accepted), done = std::move(done)](const Status& stored) {
        Accepted now = accepted;
        if (!stored.ok())
          now.refused = ComeAgain(503, "The task could not be stored: " + stored.error().message,
                                  kSystemError, context_->jobs->retry_after_s());
        done(std::move(now));
      });
}

bool Tasks::StillGood(const TaskRecord& record, const EvaluationRequest& request) {
  if (record.job_id.empty()) return false;  // a refusal costs nothing to find again
  const Result<std::shared_ptr<const Job>> job = context_->jobs->Peek(record.job_id);
  if (!job.ok()) return false;
  if ((*job)->state != JobState::kDone) return true;
  if (request.force_refresh) return false;
  // What was not judged is no result: whoever asks again wants it judged.
  const Outcome outcome = OutcomeOf(record, job->get());
  if (outcome.origin == Origin::kInfrastructure || outcome.origin == Origin::kClient) return false;
  // Nor does a time limit that passed say anything of a longer one.
  return outcome.error_code != kTimeoutError || request.timeout <= record.request.timeout;
}

void Tasks::Submitted(const Result<SharedJob>& job, Accepted* accepted) {
  TaskRecord& record = accepted->record;
  const LogRequest of(record.request.request_id);
  if (job.ok()) {
    record.job_id = (*job)->request->id;
    TellWhenDone(record);
    return;
  }
  switch (job.error().code) {
    case ErrorCode::kUnavailable: {
      // A full queue is this client's to wait for; a server that stops is not.
      const bool draining = context_->jobs->draining();
      accepted->refused = ComeAgain(draining ? 503 : 429, job.error().message,
                                    draining ? kSystemError : kResourceError,
                                    context_->jobs->retry_after_of(record.owner));
      return;
    }
    case ErrorCode::kInvalid:
    case ErrorCode::kNotFound:
      record.refusal = "Kernel code validation failed: " + job.error().message;
      return;
    default:
      LogWarn("kernelgym: task {} could not be submitted: {}", record.id(), job.error().message);
      accepted->refused =
          Detail(500, "Failed to submit task: " + job.error().message, kSystemError);
  }
}

void Tasks::TellWhenDone(const TaskRecord& record) {
  if (!finished_) return;
  waits_.Await(record.job_id, std::nullopt, [finished = finished_, record](const Job* job) {
    if (job != nullptr) finished(record, *job);
  });
}

std::optional<TaskRecord> Tasks::Load(const std::string& owner, const std::string& id) {
  const Result<json::object> document =
      context_->documents->Get(kTaskDocuments, DocumentId(owner, id));
  if (!document.ok()) return std::nullopt;
  return RecordFromJson(*document);
}

std::optional<Tasks::Found> Tasks::Find(const std::string& owner, const std::string& name) {
  constexpr std::string_view kKernelSuffix = "_kernel";
  constexpr std::string_view kReferenceSuffix = "_ref";
  Found found;
  found.name = name;
  std::optional<TaskRecord> record = Load(owner, name);
  for (const std::string_view suffix : {kKernelSuffix, kReferenceSuffix}) {
    if (record || !name.ends_with(suffix)) continue;
    record = Load(owner, name.substr(0, name.size() - suffix.size()));
    if (record && (record->request.simple() || record->job_id.empty())) record.reset();
    found.part = suffix == kKernelSuffix ? Part::kKernel : Part::kReference;
  }
  if (!record) return std::nullopt;
  found.record = *std::move(record);
  if (found.record.job_id.empty()) return found;
  Result<std::shared_ptr<const Job>> job = context_->jobs->Peek(found.record.job_id);
  if (!job.ok()) return std::nullopt;  // its time is over
  found.job = *std::move(job);
  // The reference's half exists once there is a time of the reference.
  if (found.part == Part::kReference) {
    if (found.job->state != JobState::kDone) return std::nullopt;
    if (OutcomeOf(found.record, found.job.get()).reference_ms.value_or(-1) < 0) return std::nullopt;
  }
  return found;
}

Outcome Tasks::OutcomeOf(const TaskRecord& record, const Job* job) const {
  return job == nullptr ? Refused(record) : Translate(record, *job, context_->timeout_status);
}

std::string Tasks::NameOf(const Job& job) {
  std::string_view key = job.request->idempotency;
  if (!key.starts_with(kKey)) return "";
  key.remove_prefix(kKey.size());
  for (int part = 0; part < 2; ++part) {
    const size_t colon = key.find(':');
    if (colon == std::string_view::npos) return "";
    key.remove_prefix(colon + 1);
  }
  return key.starts_with(':') ? "" : std::string(key);
}

}  // namespace assay::kernelgym
