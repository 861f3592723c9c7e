#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "base/clock.h"
#include "worker/process_tree.h"
#include "worker/runtime_process.h"

namespace assay {

/// The processes of a device that work outside its lock (warming up, importing, compiling, running
/// checks). A timing stops them all, so that it is alone without waiting for them.
class BackgroundSet {
 public:
  /// `with_children`: stop compilers too. On a GPU they may go on, they launch nothing there.
  explicit BackgroundSet(bool with_children) : with_children_(with_children) {}

  /// Membership of one process, for as long as this lives. Blocks while a timing runs.
  class Member {
   public:
    Member(BackgroundSet* set, RuntimeProcess* process) : set_(set), process_(process) {
      const std::lock_guard guard(set_->mutex_);
      set_->members_.insert(process_);
    }
    ~Member() {
      const std::lock_guard guard(set_->mutex_);
      set_->members_.erase(process_);
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    BackgroundSet* const set_;
    RuntimeProcess* const process_;
  };

  /// Stops all members while it lives; none can join or leave meanwhile.
  class Pause {
   public:
    Pause(BackgroundSet* set, Seconds limit)
        : set_(set), guard_(set->mutex_), since_(Clock::now()) {
      for (const RuntimeProcess* member : set_->members_)
        static_cast<void>(StopTree(member->process(), set_->with_children_, DeadlineIn(limit)));
    }
    ~Pause() {
      for (const RuntimeProcess* member : set_->members_)
        ContinueTree(member->process(), set_->with_children_);
      set_->paused_s_ = set_->paused_s_ + Seconds(Clock::now() - since_).count();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    BackgroundSet* const set_;
    const std::lock_guard<std::mutex> guard_;
    const TimePoint since_;
  };

  /// Time that members have spent stopped, in all: deadlines move by what it grew meanwhile.
  [[nodiscard]] Seconds Paused() const { return Seconds(paused_s_.load()); }

 private:
  const bool with_children_;
  std::mutex mutex_;
  std::set<RuntimeProcess*> members_;
  std::atomic<double> paused_s_{0};
};

}  // namespace assay
