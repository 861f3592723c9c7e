#include "http/loop.h"

#include <boost/asio/post.hpp>
#include <ctime>

#include "base/hash.h"
#include "base/log.h"
#include "base/result.h"

namespace assay::http {
namespace {

/// RFC 9110's form; not strftime, whose names follow the locale.
std::string HttpDate() {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

constexpr Seconds kStopGrace{1};

}  // namespace

Loop::Loop(Seconds tick)
    : tick_(tick), date_(HttpDate()), id_prefix_(NewId("").substr(0, 8) + "-") {}

Loop::~Loop() { ASSAY_CHECK(!thread_.joinable()); }

void Loop::Start() {
  ArmTick();
  thread_ = std::thread([this] { context_.run(); });
}

void Loop::Stop() {
  AbortAll();
  asio::post(context_, [this] { AwaitEnd(DeadlineIn(kStopGrace)); });
  if (thread_.joinable()) thread_.join();
}

void Loop::AwaitEnd(TimePoint deadline) {
  if (connections_.empty() || Clock::now() > deadline) {
    context_.stop();
    return;
  }
  timer_.expires_after(std::chrono::milliseconds(2));
  timer_.async_wait([this, deadline](const ErrorCodeOf&) { AwaitEnd(deadline); });
}

void Loop::Add(std::shared_ptr<Connection> connection) {
  Connection* added = connection.get();
  added->place_ = connections_.insert(connections_.end(), std::move(connection));
}

void Loop::Remove(Connection* connection) {
  if (!connection->place_) return;
  const auto place = *std::exchange(connection->place_, std::nullopt);
  connections_.erase(place);
}

void Loop::ForEach(void (Connection::*call)()) {
  asio::post(context_, [this, call] {
    // A copy: a call may end a connection, which then leaves the list.
    const std::list<std::shared_ptr<Connection>> all = connections_;
    for (const std::shared_ptr<Connection>& connection : all) (*connection.*call)();
  });
}

void Loop::DrainAll() { ForEach(&Connection::Drain); }
void Loop::AbortAll() { ForEach(&Connection::Abort); }

void Loop::ArmTick() {
  timer_.expires_after(std::chrono::duration_cast<Duration>(tick_));
  timer_.async_wait([this](const ErrorCodeOf& error) {
    if (error) return;
    Tick();
    ArmTick();
  });
}

void Loop::Tick() {
  date_ = HttpDate();
  const TimePoint now = Clock::now();
  for (auto next = connections_.begin(); next != connections_.end();) {
    const std::shared_ptr<Connection> connection = *next++;
    connection->Tick(now);
  }
}

std::shared_ptr<void> Loop::After(Seconds delay, std::function<void()> action) {
  /// It may outlive the loop.
  struct Handle {
    Handle(std::weak_ptr<Loop> of, ActionKey at) : loop(std::move(of)), key(at) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
      if (const std::shared_ptr<Loop> alive = loop.lock()) alive->TakeBack(key);
    }
    const std::weak_ptr<Loop> loop;
    const ActionKey key;
  };
  ActionKey key{DeadlineIn(delay), 0};
  bool earliest = false;
  {
    const std::lock_guard lock(mutex_);
    key.second = next_action_++;
    actions_.emplace(key, std::move(action));
    if (key.first < next_look_) {
      next_look_ = key.first;
      earliest = true;
    }
  }
  if (earliest) asio::post(context_, [this] { ArmActions(); });
  return std::make_shared<Handle>(weak_from_this(), key);
}

void Loop::TakeBack(const ActionKey& key) {
  decltype(actions_)::node_type action;  // goes after the lock
  const std::lock_guard lock(mutex_);
  action = actions_.extract(key);
}

void Loop::ArmActions() {
  {
    const std::lock_guard lock(mutex_);
    if (next_look_ == TimePoint::max()) return;
    actions_timer_.expires_at(next_look_);
  }
  actions_timer_.async_wait([this](const ErrorCodeOf& error) {
    if (!error) RunActions();
  });
}

void Loop::RunActions() {
  const TimePoint now = Clock::now();
  for (;;) {
    decltype(actions_)::node_type due;
    {
      const std::lock_guard lock(mutex_);
      const auto first = actions_.begin();
      if (first == actions_.end() || first->first.first > now) {
        next_look_ = first == actions_.end() ? TimePoint::max() : first->first.first;
        break;
      }
      due = actions_.extract(first);
    }
    try {
      due.mapped()();
    } catch (const std::exception& exception) {
      LogWarn("a timer's action failed: {}", exception.what());
    }
  }
  ArmActions();
}

std::string Loop::NextId() { return id_prefix_ + fmt::format("{:x}", next_id_++); }

}  // namespace assay::http
