#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/jobs.h"
#include "kernelgym/outcome.h"

namespace assay::kernelgym {

/// Counts of what this protocol's tasks came to since the server's start. Thread-safe.
class Statistics {
 public:
  struct Totals {
    uint64_t finished = 0;
    uint64_t completed = 0;
    uint64_t failed = 0;
    uint64_t compilation_errors = 0;
    uint64_t runtime_errors = 0;
    uint64_t timeout_errors = 0;
    uint64_t infrastructure_errors = 0;
    double judging_s = 0;  ///< sum over the finished ones
    size_t last_hour = 0;  ///< finished in the hour before `now`
  };

  /// A job counts once, however many requests were about it.
  void Count(const Job& job, const Outcome& outcome, double now);
  Totals Get(double now);

  /// Submissions that killed their process or broke their device context, by hash of their source,
  /// `least` times or more within a day; most first.
  std::vector<std::pair<std::string, int>> Problematic(int least, double now);
  void ForgetProblems(const std::string& code_hash);

 private:
  void DropOld(double now);

  std::mutex mutex_;
  Totals totals_;
  std::deque<double> finish_times_;
  std::set<std::string> counted_;          ///< ids of the last jobs
  std::deque<std::string> counted_order_;  ///< the same, oldest first
  std::map<std::string, std::deque<double>> faults_;
};

}  // namespace assay::kernelgym
