#pragma once

#include <memory>

#include "api/api.h"
#include "http/message.h"

namespace assay::api {

/// Held by whatever still has to answer.
using Api = std::shared_ptr<const ApiContext>;

// The operations' handlers. Each answers exactly once and does not wait for a judgement.

// submissions.cc
void CreateSubmission(const Api& api, http::Request request, http::Reply reply);
void GetSubmission(const Api& api, http::Request request, http::Reply reply);
void ListSubmissions(const Api& api, http::Request request, http::Reply reply);
void CancelSubmission(const Api& api, http::Request request, http::Reply reply);
void GetSource(const Api& api, http::Request request, http::Reply reply);
void GetReward(const Api& api, http::Request request, http::Reply reply);

// episodes.cc
void ListEpisodes(const Api& api, http::Request request, http::Reply reply);
void GetEpisode(const Api& api, http::Request request, http::Reply reply);
void GetTrace(const Api& api, http::Request request, http::Reply reply);

// events.cc
void StreamEvents(const Api& api, http::Request request, http::Reply reply);

// batch.cc
void CreateBatch(const Api& api, http::Request request, http::Reply reply);

// lookup.cc
void ListTasks(const Api& api, http::Request request, http::Reply reply);
void GetTask(const Api& api, http::Request request, http::Reply reply);
void GetQueue(const Api& api, http::Request request, http::Reply reply);
void ListWorkers(const Api& api, http::Request request, http::Reply reply);
void ListRewards(const Api& api, http::Request request, http::Reply reply);
void ComputeRewardOf(const Api& api, http::Request request, http::Reply reply);

// worker_routes.cc
void LeaseJob(const Api& api, http::Request request, http::Reply reply);
void RenewLeases(const Api& api, http::Request request, http::Reply reply);
void CompleteLease(const Api& api, http::Request request, http::Reply reply);
void ReturnLease(const Api& api, http::Request request, http::Reply reply);

/// The value of a query parameter as a number; `fallback` when it is absent. kInvalid unless it is
/// one from `low` to `high`.
Result<double> QueryNumber(const http::Request& request, std::string_view name, double fallback,
                           double low, double high);

/// 400 "bad_request".
http::Response BadRequest(const http::Request& request, const Error& error);

/// A verdict's worth as an answer: the Reward schema, or why there is none.
http::Response RewardResponse(const http::Request& request, const std::string& mode,
                              const json::object& parameters, const json::object& verdict);

}  // namespace assay::api
