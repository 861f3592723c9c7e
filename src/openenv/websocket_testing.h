#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "openenv/schema.h"
#include "openenv/testing.h"
#include "openenv/websocket.h"

namespace assay::openenv::testing {

inline constexpr const char* kCode = "class ModelNew: pass";

/// A server with one client; further ones by Connect().
class WebSocketTest : public ::testing::Test {
 protected:
  struct Client {
    std::shared_ptr<FakePeer> peer = std::make_shared<FakePeer>();
    std::unique_ptr<http::WebSocketSession> session;

    json::object Send(const json::value& message) { return SendText(json::serialize(message)); }
    json::object SendText(const std::string& text) {
      session->OnMessage(text);
      return peer->sent.empty() ? json::object{} : peer->Last();
    }
    json::object Reset(json::object data = {{"task_id", "assay/relu"}}) {
      return Send({{"type", "reset"}, {"data", std::move(data)}});
    }
    json::object Step(json::object action) {
      return Send({{"type", "step"}, {"data", std::move(action)}});
    }
    json::object State() { return Send({{"type", "state"}}); }
    void Drop() {
      session->OnClose();
      session.reset();
    }
  };

  explicit WebSocketTest(Settings settings = {}) : world_(std::move(settings)) {
    world_.jobs.verdict = CorrectVerdict(2);
    Restart();
  }

  void TearDown() override { service_->Shutdown(); }

  /// Another server on the same store.
  void Restart() {
    if (service_ != nullptr) service_->Shutdown();
    service_ = Service::Make(world_.Context());
  }

  Client Connect(const std::string& session_id = "", const std::string& key = "local") {
    Client client;
    http::Request request;
    request.path = "/ws";
    request.who.key_name = key;
    if (key != "local") request.who.key_id = key;
    request.who.scope = http::Scope::kSubmit;
    if (!session_id.empty()) request.query = {{"session_id", session_id}};
    client.session = NewWebSocketSession(service_, request, client.peer);
    client.session->OnOpen();
    return client;
  }

  /// kill -9 of its server: no goodbye, and what the server held does nothing any more.
  void Kill(Client* client) { killed_.push_back(std::move(client->session)); }

  static json::object Data(const json::object& message) { return GetObject(message, "data"); }
  static json::object Observation(const json::object& message) {
    EXPECT_EQ(GetString(message, "type"), "observation") << json::serialize(message);
    const json::object data = Data(message);
    // What goes out agrees with the served schema, always.
    json::object whole = GetObject(data, "observation");
    whole["reward"] = data.at("reward");
    whole["done"] = data.at("done");
    EXPECT_EQ(Violation(Schemas().at("observation").as_object(), whole), "");
    return GetObject(data, "observation");
  }
  static std::string Code(const json::object& message) {
    EXPECT_EQ(GetString(message, "type"), "error") << json::serialize(message);
    return GetString(Data(message), "code");
  }

  World world_;
  std::shared_ptr<Service> service_;

 private:
  std::vector<std::unique_ptr<http::WebSocketSession>> killed_;
};

}  // namespace assay::openenv::testing
