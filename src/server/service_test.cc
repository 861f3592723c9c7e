#include "server/service.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/temp_folder.h"
#include "http/testing.h"
#include "server/status.h"
#include "verdict/verdict.h"

namespace assay {
namespace {

using http::BodyOf;
using http::Eventually;
using http::Get;
using http::Post;
using http::RawClient;
using http::StatusOf;

/// A server that echoes, with a store of its own.
class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.port = 0;
    options_.echo = true;
    options_.store = folder_ + "/store.db";
    options_.version = "test";
    options_.access_log = false;
  }
  void TearDown() override { service_.reset(); }
  void Start() {
    Result<std::unique_ptr<Service>> service = Service::Start(options_);
    ASSERT_TRUE(service.ok()) << service.error().message;
    service_ = *std::move(service);
  }
  std::string Ask(const std::string& request, uint16_t port = 0) {
    RawClient client(port != 0 ? port : service_->port());
    client.Send(request);
    return client.ReadResponse();
  }
  std::string Submit(const std::string& query = "") {
    const std::string body = json::serialize(
        json::object{{"task_id", "assay/relu"}, {"source", "class ModelNew: pass"}});
    return Ask(Post("/v1/submissions" + query, body, "Content-Type: application/json\r\n"));
  }

  const test::TempFolder temp_;
  const std::string folder_ = temp_.path();
  ServeOptions options_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, ListensBeforeItJudges) {
  Start();
  EXPECT_EQ(StatusOf(Ask(Get("/healthz"))), 200);
  EXPECT_NE(Ask(Get("/health")).find("healthy"), std::string::npos);
  const std::string waiting = Ask(Get("/readyz"));
  EXPECT_EQ(StatusOf(waiting), 503);
  EXPECT_NE(waiting.find("starting"), std::string::npos);
  EXPECT_EQ(StatusOf(Submit()), 202);
  ASSERT_TRUE(service_->StartJudging().ok());
  EXPECT_EQ(StatusOf(Ask(Get("/readyz"))), 200);
  EXPECT_TRUE(Eventually(
      [&] { return Ask(Get("/v1/workers")).find("\"judged\":1") != std::string::npos; }));
}

TEST_F(ServiceTest, MetadataTellsWhatResultsDependOn) {
  const auto metadata = [&] { return *ParseJsonObject(BodyOf(Ask(Get("/metadata")))); };
  Start();
  EXPECT_FALSE(GetBool(metadata(), "ready", true));
  ASSERT_TRUE(service_->StartJudging().ok());
  const json::object now = metadata();
  EXPECT_TRUE(GetBool(now, "ready"));
  EXPECT_EQ(GetInt(GetObject(now, "limits"), "max_message_bytes"),
            static_cast<int64_t>(options_.limits.message_bytes));
  EXPECT_EQ(GetString(now, "protocol"), kProtocolVersion);
}

TEST_F(ServiceTest, JudgesAndCounts) {
  Start();
  ASSERT_TRUE(service_->StartJudging().ok());
  const std::string done = Submit("?wait=10");
  EXPECT_EQ(StatusOf(done), 200) << done;
  const std::string metrics = Ask(Get("/metrics"));
  EXPECT_NE(metrics.find("Content-Type: text/plain; version=0.0.4"), std::string::npos);
  EXPECT_NE(metrics.find("assay_http_requests_total{method=\"POST\",status=\"200\"} 1"),
            std::string::npos);
}

TEST_F(ServiceTest, KernelGymBelowItsPrefixOrOnItsPort) {
  Start();
  EXPECT_EQ(StatusOf(Ask(Get("/kernelgym/health"))), 200);
  EXPECT_EQ(service_->kernelgym_port(), 0);
  service_.reset();
  options_.kernelgym_port = 0;
  Start();
  EXPECT_NE(service_->kernelgym_port(), 0);
  EXPECT_EQ(StatusOf(Ask(Get("/health"), service_->kernelgym_port())), 200);
  EXPECT_EQ(StatusOf(Ask(Get("/kernelgym/health"))), 404);
}

TEST_F(ServiceTest, WhatWasAcceptedSurvivesTheProcess) {
  Start();
  const Result<json::object> job = ParseJsonObject(BodyOf(Submit()));
  ASSERT_TRUE(job.ok());
  const std::string id = GetString(*job, "id");
  service_.reset();
  Start();
  ASSERT_TRUE(service_->StartJudging().ok());
  EXPECT_EQ(StatusOf(Ask(Get("/v1/submissions/" + id + "?wait=10"))), 200);
}

TEST_F(ServiceTest, DrainRefusesNewWork) {
  Start();
  ASSERT_TRUE(service_->StartJudging().ok());
  service_->BeginDrain();
  EXPECT_TRUE(Eventually([&] { return service_->Drained(); }));
}

TEST_F(ServiceTest, TwoServersDoNotShareAStore) {
  Start();
  const Result<std::unique_ptr<Service>> second = Service::Start(options_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("store"), std::string::npos) << second.error().message;
}

TEST_F(ServiceTest, HostSettings) {
  openenv::HostSettings host;
  host.gpus = std::vector<int>{0, 2};
  host.tasks = {"builtin"};
  host.trials = 3;
  ServeOptions options;
  ASSERT_TRUE(ApplyHostSettings(host, &options).ok());
  EXPECT_EQ(options.devices, (std::vector<std::string>{"cuda:0", "cuda:2"}));
  EXPECT_EQ(options.device.limits.trials, 3);
  options.devices = {"cpu"};
  ASSERT_TRUE(ApplyHostSettings(host, &options).ok());
  EXPECT_EQ(options.devices, std::vector<std::string>{"cpu"});  // the command line goes before
  host.api_key_file = "/keys";
  host.allowed_hosts = {"gpu-box"};
  ASSERT_TRUE(ApplyHostSettings(host, &options).ok());
  EXPECT_EQ(options.exposure.api_key_file, "/keys");
  EXPECT_EQ(options.exposure.hosts, std::vector<std::string>{"gpu-box"});
  host.trace_dir = "/tmp";
  EXPECT_FALSE(ApplyHostSettings(host, &options).ok());
}

}  // namespace
}  // namespace assay
