// The life of a job, by enumeration: every sequence of operations up to a length is run on the
// broker and on a model of it that is written down from the picture in broker.h.

#include <optional>

#include "broker/broker_testing.h"

namespace assay {
namespace {

enum class Op { kLease, kStage, kComplete, kGiveBack, kLose, kExpire, kCancel, kLateComplete };
constexpr int kOps = 8;
constexpr Seconds kTtl{10};

/// What must hold after each operation.
struct Model {
  JobState state = JobState::kQueued;
  int deliveries = 0;
  int losses = 0;
  bool cancel = false;
  std::string status;

  void End(const std::string& with) {
    state = JobState::kDone;
    status = with;
  }
  void BackToTheQueue(bool lost) {
    losses += lost ? 1 : 0;
    if (cancel)
      End("cancelled");
    else if (losses > 3)
      End("infra_error");
    else
      state = JobState::kQueued;
  }
  /// Whether the operation succeeds.
  bool Apply(Op op) {
    const bool running = state == JobState::kRunning;
    switch (op) {
      case Op::kLease:
        if (state != JobState::kQueued) return false;
        state = JobState::kRunning;
        ++deliveries;
        return true;
      case Op::kStage:
        return running;
      case Op::kComplete:
        if (running) End("correct");
        return running;
      case Op::kGiveBack:
      case Op::kLose:
        if (running) BackToTheQueue(op == Op::kLose);
        return running;
      case Op::kExpire:
        if (running) BackToTheQueue(true);
        return true;
      case Op::kCancel:
        if (state == JobState::kQueued) End("cancelled");
        if (running) cancel = true;
        return true;
      case Op::kLateComplete:
        return false;
    }
    return false;
  }
};

class States : public ::testing::Test {
 protected:
  States() {
    BrokerOptions options;
    clocks_.Use(&options);
    broker_ = test::OpenBroker(options);
  }

  bool Apply(Op op) {
    switch (op) {
      case Op::kLease: {
        Result<std::optional<Delivery>> delivery = broker_->Lease("w", Seconds(0), kTtl);
        EXPECT_TRUE(delivery.ok());
        if (!*delivery) return false;
        if (last_) earlier_ = last_;
        last_ = *delivery;
        return true;
      }
      case Op::kStage:
        return last_ && broker_->SetStage(*last_, "check").ok();
      case Op::kComplete:
        return last_ &&
               broker_->Complete(*last_, test::VerdictDocument(last_->job->request, "correct"))
                   .ok();
      case Op::kGiveBack:
        return last_ && broker_->Return(*last_, false, "").ok();
      case Op::kLose:
        return last_ && broker_->Return(*last_, true, "").ok();
      case Op::kExpire:
        clocks_.Advance(kTtl.count() + 1);
        broker_->Sweep();
        return true;
      case Op::kCancel:
        return broker_->Cancel(id_).ok();
      case Op::kLateComplete:
        return earlier_ &&
               broker_
                   ->Complete(*earlier_, test::VerdictDocument(earlier_->job->request, "timeout"))
                   .ok();
    }
    return false;
  }

  void Run(const std::vector<Op>& ops) {
    id_ = (*broker_->Submit(test::Request())).request->id;
    last_.reset();
    earlier_.reset();
    Model model;
    std::string trace;
    for (const Op op : ops) {
      trace += static_cast<char>('0' + static_cast<int>(op));
      ASSERT_EQ(Apply(op), model.Apply(op)) << trace;
      const Job job = *broker_->Get(id_);
      ASSERT_EQ(static_cast<int>(job.state), static_cast<int>(model.state)) << trace;
      ASSERT_EQ(job.deliveries, model.deliveries) << trace;
      ASSERT_EQ(test::StatusOf(job), model.status) << trace;
      if (last_ && model.state == JobState::kRunning) {
        ASSERT_EQ(last_->cancelled->load(), model.cancel) << trace;
      }
      const QueueDepth depth = broker_->Depth();
      ASSERT_EQ(depth.queued, model.state == JobState::kQueued ? 1U : 0U) << trace;
      ASSERT_EQ(depth.running, model.state == JobState::kRunning ? 1U : 0U) << trace;
    }
    // The end, so that the next sequence finds an empty queue.
    ASSERT_TRUE(broker_->Cancel(id_).ok());
    if (model.state == JobState::kRunning) {
      ASSERT_TRUE(
          broker_->Complete(*last_, test::VerdictDocument(last_->job->request, "cancelled")).ok());
    }
    ASSERT_EQ((*broker_->Get(id_)).state, JobState::kDone) << trace;
  }

  test::FakeClocks clocks_;
  std::unique_ptr<Broker> broker_;
  std::string id_;
  std::optional<Delivery> last_;
  std::optional<Delivery> earlier_;
};

TEST_F(States, EverySequenceOfFour) {
  constexpr int kLength = 4;
  int sequences = 1;
  for (int i = 0; i < kLength; ++i) sequences *= kOps;
  for (int number = 0; number < sequences; ++number) {
    std::vector<Op> ops;
    for (int i = 0, rest = number; i < kLength; ++i, rest /= kOps)
      ops.push_back(static_cast<Op>(rest % kOps));
    Run(ops);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_F(States, LongLivesOfLossesAndCancels) {
  // What four operations cannot reach: the fourth loss, and a cancel at each point before it.
  for (const Op loss : {Op::kLose, Op::kExpire})
    for (int cancel_at = 0; cancel_at <= 10; ++cancel_at) {
      std::vector<Op> ops;
      for (int i = 0; i < 5; ++i) {
        ops.push_back(Op::kLease);
        ops.push_back(loss);
      }
      ops.insert(ops.begin() + cancel_at, Op::kCancel);
      ops.push_back(Op::kLateComplete);
      Run(ops);
      ASSERT_FALSE(HasFatalFailure());
    }
}

}  // namespace
}  // namespace assay
