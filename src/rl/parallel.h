#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace assay::rl {

/// Threads that a call may use: what SetThreads said, else ASSAY_RL_THREADS, else one per processor
/// this process may run on. Results never depend on it.
int Threads();

/// Sets Threads() for the whole process; 0 restores the default. Safe from any thread.
void SetThreads(int threads);

/// Calls `work(begin, end)` for disjoint row ranges that cover all rows of `offsets` (rows + 1
/// entries), cut so that each holds a similar number of tokens, on several threads; returns when
/// all are done. Threads live for the call only: a thread is cheap beside the tokens that warrant
/// one, and a process that forks (as data loaders do) inherits no broken pool. `work` writes only
/// what belongs to its rows and must not throw.
void ForRows(std::span<const int64_t> offsets, const std::function<void(size_t, size_t)>& work);

}  // namespace assay::rl
