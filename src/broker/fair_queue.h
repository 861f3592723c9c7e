#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace assay {

/// Who is next: fair between owners by the time their jobs take, not by their number, so that an
/// owner with slow jobs or a thousand of them takes nobody's turn; by priority, then by age within
/// an owner. Plain data, no clock, no lock.
///
/// Start-time fair queueing: each owner has a counter of the seconds that it was served; the least
/// served owner with a job goes first. An owner that comes back after a pause starts at the least
/// counter of the others: time in which it wanted nothing cannot be saved up.
class FairQueue {
 public:
  struct Entry {
    std::string owner;
    int priority = 0;
    int64_t sequence = 0;  ///< names the job; older ones have smaller ones
    size_t bytes = 0;      ///< of memory that it takes while it waits
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes a comparison with 0 for a pointer
    auto operator<=>(const Entry&) const = default;
  };

  void Push(const Entry& entry);
  /// False when it is not there; its bytes need not be told.
  bool Remove(const Entry& entry);

  std::optional<Entry> Pop();
  /// Adds to what the owner was served. Charge what a job is expected to take when it is popped,
  /// else all free workers go to one owner before its first job has ended; and the rest (or less)
  /// when it has.
  void Charge(const std::string& owner, double seconds);

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t size(const std::string& owner) const;
  [[nodiscard]] size_t owners() const;  ///< that have jobs in it
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] size_t bytes(const std::string& owner) const;

 private:
  struct Waiting {
    int priority = 0;
    int64_t sequence = 0;
    size_t bytes = 0;
    bool operator<(const Waiting& other) const {
      return priority != other.priority ? priority > other.priority : sequence < other.sequence;
    }
  };
  struct Owner {
    double served_s = 0;
    size_t bytes = 0;
    std::set<Waiting> jobs;
  };

  /// The least served of the owners with jobs; 0 without any.
  [[nodiscard]] double Floor() const;
  void Forget();
  void Take(Owner* owner, std::set<Waiting>::const_iterator job);

  std::map<std::string, Owner> owners_;
  size_t size_ = 0;
  size_t bytes_ = 0;
  double floor_ = 0;  ///< highest Floor() so far
};

}  // namespace assay
