#pragma once

#include <fcntl.h>

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
  /// Membership of one process, for as long as this lives. Blocks while a timing runs.
  class Member {
   public:
    /// `frozen`: it stands stopped, and runs on as a member.
    Member(BackgroundSet* set, RuntimeProcess& process, bool frozen = false)
        : set_(set),
          pid_(process.process().pid()),
          pidfd_(::fcntl(process.process().pidfd(), F_DUPFD_CLOEXEC, 0)) {
      const std::lock_guard guard(set_->mutex_);
      set_->members_.insert(this);
      if (frozen) process.Thaw();
    }
    ~Member() {
      const std::lock_guard guard(set_->mutex_);
      set_->members_.erase(this);
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    friend class BackgroundSet;

    BackgroundSet* const set_;
    const pid_t pid_;
    // A descriptor of its own: the owner may reap the process while a timing pauses the set.
    const UniqueFd pidfd_;
  };

  /// Stops all members and their children while it lives; none can join or leave meanwhile.
  class Pause {
   public:
    Pause(BackgroundSet* set, Seconds limit)
        : set_(set), guard_(set->mutex_), since_(Clock::now()) {
      // All are told before the first is waited for: a call into the driver may take milliseconds.
      for (const Member* member : set_->members_) SendStop(member->pidfd_.get());
      for (const Member* member : set_->members_)
        static_cast<void>(StopTree(member->pid_, member->pidfd_.get(), /*with_children=*/true,
                                   DeadlineIn(limit)));
    }
    ~Pause() {
      for (const Member* member : set_->members_)
        ContinueTree(member->pid_, member->pidfd_.get(), /*with_children=*/true);
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
  std::mutex mutex_;
  std::set<const Member*> members_;
  std::atomic<double> paused_s_{0};
};

}  // namespace assay
