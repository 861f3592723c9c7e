#include <set>

#include "api/api_testing.h"

namespace assay {
namespace {

using test::ApiTest;
using test::RecordedBody;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ApiTest, ALongPollEndsWithTheVerdict) {
  const auto posted = Send("POST", "/v1/submissions?wait=20", kGood);
  ASSERT_TRUE(test::Eventually([&] { return timers_.Delays() == std::vector<double>{20}; }));
  EXPECT_EQ(StatusOf(posted), 0);
  JudgeOne();
  EXPECT_TRUE(test::Eventually([&] { return StatusOf(posted) == 200; }));
  EXPECT_THAT(timers_.Delays(), IsEmpty());  // nothing is left behind
}

TEST_F(ApiTest, ALongPollEndsWithItsTimeAndIsBounded) {
  const auto posted = Send("POST", "/v1/submissions?wait=9999", kGood);
  ASSERT_TRUE(test::Eventually([&] { return timers_.Delays() == std::vector<double>{60}; }));
  EXPECT_EQ(timers_.Fire(), 1U);
  ASSERT_TRUE(test::Eventually([&] { return StatusOf(posted) == 202; }));
  const std::string id = GetString(posted->body(), "id");
  const auto polled = Send("GET", "/v1/submissions/" + id + "?wait=5");
  EXPECT_EQ(StatusOf(polled), 0);
  EXPECT_EQ(timers_.Fire(), 1U);
  EXPECT_EQ(StatusOf(polled), 200);
  JudgeOne();  // answers nothing twice
}

TEST_F(ApiTest, ADrainAnswersWhoWaitsForWhatWaits) {
  const auto running = Send("POST", "/v1/submissions?wait=20", kGood);
  const Delivery delivery = LeaseOne();
  const auto queued = Send("POST", "/v1/submissions?wait=20", kGood);
  const std::string id = delivery.job->request->id;
  ASSERT_TRUE(test::Eventually([&] { return timers_.Delays().size() == 2; }));
  const std::string other = GetString(
      GetArray(Ask("GET", "/v1/submissions?state=queued").body(), "submissions").at(0).get_object(),
      "id");
  const auto polled = Send("GET", "/v1/submissions/" + other + "?wait=20");
  const auto events = std::make_shared<RecordedBody>(100);
  Ask("GET", "/v1/submissions/" + other + "/events").response.stream(events);
  const auto batch = std::make_shared<RecordedBody>(100);
  Ask("POST", "/v1/batches", std::string(kGood) + "\n").response.stream(batch);
  ASSERT_TRUE(test::Eventually([&] { return broker_->Depth().queued == 2; }));
  broker_->Drain();
  EXPECT_TRUE(test::Eventually([&] { return StatusOf(queued) == 202; }));
  EXPECT_TRUE(test::Eventually([&] { return StatusOf(polled) == 200; }));
  EXPECT_EQ(GetString(queued->body(), "state"), "queued");
  EXPECT_EQ(GetString(queued->body(), "id"), other);
  EXPECT_TRUE(test::Eventually([&] { return events->ends() == 1 && batch->ends() == 1; }));
  EXPECT_THAT(batch->text(), HasSubstr("the submission is kept"));
  // What is judged is awaited.
  EXPECT_EQ(StatusOf(running), 0);
  ASSERT_TRUE(
      broker_->Complete(delivery, test::VerdictDocument(delivery.job->request, "timeout")).ok());
  EXPECT_TRUE(test::Eventually([&] { return StatusOf(running) == 200; }));
  EXPECT_THAT(timers_.Delays(), IsEmpty());
}

TEST_F(ApiTest, EventsTellTheStagesAndEnd) {
  const std::string id = SubmitId();
  const Answer answer = Ask("GET", "/v1/submissions/" + id + "/events");
  EXPECT_EQ(answer.response.content_type, "text/event-stream");
  const auto body = std::make_shared<RecordedBody>(100);
  answer.response.stream(body);
  const Delivery delivery = LeaseOne();
  ASSERT_TRUE(broker_->SetStage(delivery, "check").ok());
  EXPECT_TRUE(test::Eventually([&] { return body->text().find("check") != std::string::npos; }));
  EXPECT_EQ(timers_.Fire(), 1U);
  EXPECT_THAT(body->text(), HasSubstr(": alive\n\n"));
  ASSERT_TRUE(
      broker_->Complete(delivery, test::VerdictDocument(delivery.job->request, "timeout")).ok());
  EXPECT_TRUE(test::Eventually([&] { return body->ends() == 1; }));
  std::vector<std::string> events;
  const std::string text = body->text();
  for (const std::string_view line : Split(text, '\n'))
    if (line.starts_with("event: ")) events.emplace_back(line.substr(7));
  EXPECT_THAT(events, ElementsAre("stage", "stage", "stage", "done"));
  EXPECT_EQ(timers_.Fire(), 0U);  // nothing is left behind
}

TEST_F(ApiTest, EventsOfAReaderThatWentAreDropped) {
  const std::string id = SubmitId();
  const Answer answer = Ask("GET", "/v1/submissions/" + id + "/events");
  const auto body = std::make_shared<RecordedBody>(1);
  answer.response.stream(body);
  EXPECT_EQ(timers_.Fire(), 1U);  // the sign of life finds nobody
  EXPECT_EQ(timers_.Fire(), 0U);
  JudgeOne();
  EXPECT_THAT(body->text(), Not(HasSubstr("done")));
}

TEST_F(ApiTest, ABatchAnswersEveryLine) {
  ApiLimits limits;
  limits.batch_window = 2;
  Start({}, limits);
  std::string lines;
  for (int i = 0; i < 5; ++i)
    lines += fmt::format(R"({{"id": "b{}", "task_id": "{}", "source": "x"}})", i,
                         i == 3 ? "none" : "assay/relu") +
             "\n\n";
  const Answer answer = Ask("POST", "/v1/batches", lines);
  EXPECT_EQ(answer.response.content_type, "application/x-ndjson");
  const auto body = std::make_shared<RecordedBody>(100);
  answer.response.stream(body);
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(broker_->Depth().queued, 2U);  // the window
    JudgeOne();
  }
  EXPECT_TRUE(test::Eventually([&] { return body->ends() == 1; }));
  std::set<int64_t> answered;
  const std::string text = body->text();
  for (const std::string_view line : Split(Trim(text), '\n')) {
    const json::object object = *ParseJsonObject(line);
    const int64_t index = GetInt(object, "index", -1);
    EXPECT_TRUE(answered.insert(index).second);
    EXPECT_EQ(GetString(object, "id"), "b" + std::to_string(index));
    EXPECT_EQ(object.contains("error"), index == 3);
    EXPECT_EQ(GetString(GetObject(object, "error"), "code"), index == 3 ? "not_found" : "");
    EXPECT_EQ(GetString(GetObject(object, "verdict"), "status"), index == 3 ? "" : "incorrect");
  }
  EXPECT_EQ(answered.size(), 5U);
}

TEST_F(ApiTest, ABatchWaitsForRoomInTheQueue) {
  BrokerLimits limits;
  limits.max_queued = 1;
  Start(limits);
  std::string lines;
  for (int i = 0; i < 3; ++i) lines += std::string(kGood) + "\n";
  const auto body = std::make_shared<RecordedBody>(100);
  Ask("POST", "/v1/batches", lines).response.stream(body);
  for (int i = 0; i < 3; ++i) {
    JudgeOne();
    EXPECT_TRUE(test::Eventually([&] { return timers_.Fire() > 0 || body->ends() == 1; }));
  }
  EXPECT_TRUE(test::Eventually([&] { return body->ends() == 1; }));
  EXPECT_THAT(body->text(), Not(HasSubstr("error\":{\"code\":\"unavailable")));
}

TEST_F(ApiTest, ABatchThatCannotBeReadIsNotBegun) {
  EXPECT_EQ(Ask("POST", "/v1/batches", "\n\n").status, 400);
  const Answer answer = Ask("POST", "/v1/batches", std::string(kGood) + "\n{\"task\": 1}\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.message(), HasSubstr("line 2: there is no member 'task'"));
  ApiLimits limits;
  limits.max_batch = 2;
  Start({}, limits);
  const std::string line = std::string(kGood) + "\n";
  EXPECT_THAT(Ask("POST", "/v1/batches", line + line + line).message(),
              HasSubstr("more than 2 lines"));
  EXPECT_EQ(broker_->Depth().queued, 0U);
}

TEST_F(ApiTest, ABatchWhoseReaderWentIsStillJudged) {
  const auto body = std::make_shared<RecordedBody>(0);
  Ask("POST", "/v1/batches", std::string(kGood) + "\n" + kGood + "\n").response.stream(body);
  JudgeOne();
  JudgeOne();
  EXPECT_EQ(broker_->Depth().queued, 0U);
  EXPECT_EQ(body->ends(), 0);
}

}  // namespace
}  // namespace assay
