"""The RL methods of Dr. Kernel and its relatives, for every trainer.

One row is one turn of one conversation (a trajectory); trajectories of one prompt form a group. Rows
stand in any order, conversations may have different numbers of turns, nothing needs padding, and rows
that a trainer padded are told by a negative turn. Token arrays are either (rows, width) or flat with
`offsets` (rows + 1 entries). NumPy arrays and torch CPU tensors are read where they are; a tensor on
a GPU must be moved by the caller (`.cpu()`). float32 and float64 token arrays are taken as they are,
all sums are in float64, and no result depends on the number of threads.

    batch = Batch(group=uid, trajectory=sample, turn=turn, reward=reward, keep=keep)
    mismatch = correct_mismatch(batch, logp_train, logp_rollout, mask,
                                rejection="geometric", lower=0.999, upper=1.001, veto=1e-4)
    sampled = sample_by_coverage(batch, mismatch.state, correct=correct, coverage=coverage,
                                 seed=1, step=step)
    result = advantages("trloo", batch=batch)
    train_on = sampled.state & TRAINED           # and result.advantage, one scalar per row

A wrong value raises ValueError with what to do about it, an argument of a wrong type TypeError.
"""

from __future__ import annotations

try:
    from . import _core
except ImportError as error:
    raise ImportError(
        "assay.rl's compiled part is not there for this Python: build Assay with "
        "-DASSAY_PYTHON=<this interpreter> (needs nanobind; `make build` does it for the project's own), "
        "or install the wheel for its version"
    ) from error

from .advantage import (
    Advantages,
    TokenAdvantages,
    advantages,
    gae,
    reinforce_plus_plus,
    returns,
    score_norms,
    standardize,
    sum_per_row,
    token_optimal_baseline,
    void_turns,
    weigh_prompts_by_variance,
)
from .batch import Batch, ids
from .loss import Loss, kl_per_row, policy_loss
from .measuring import Remeasured, join_measurements, select_window, total_turns
from .rejection import (
    BAND,
    COVERAGE,
    GROUP,
    MISMATCH,
    OTHER,
    TRAINED,
    VETO,
    VOID,
    Filtered,
    Mismatch,
    PrecisionFiltered,
    Sampled,
    correct_mismatch,
    count_tokens,
    filter_by_precision,
    filter_groups,
    log_ratios,
    profile_mismatch,
    reject_rows,
    rejection_for_rate,
    rejection_quality,
    sample_by_coverage,
    signal_metrics,
)
from .report import finish_reasons, turn_metrics, turn_signal
from .reward import Reward, coverage, reward
from .statistics import (
    Interval,
    bca_geometric_mean,
    bca_mean,
    best_at_k,
    bootstrap_median,
    fast_p,
    hierarchical_difference,
    hierarchical_mean,
    holm,
    mcnemar,
    mean_pass_at_k,
    pass_at_k,
    sign_flip,
    wilson,
)
from .step import Recipe, Step, training_step


def set_threads(threads: int) -> None:
    """Threads that a call may use, for the whole process; 0: $ASSAY_RL_THREADS, else one per processor.
    Results do not depend on it. ValueError if negative."""
    _core.set_threads(threads)


def threads() -> int:
    """Threads that a call may use now."""
    return _core.threads()


# Written out, as type checkers do not run code.
__all__ = [
    "Advantages", "advantages", "BAND", "Batch", "bca_geometric_mean", "bca_mean", "best_at_k",
    "bootstrap_median", "correct_mismatch", "count_tokens", "COVERAGE", "coverage", "fast_p",
    "filter_by_precision", "filter_groups", "Filtered", "finish_reasons", "gae", "GROUP",
    "hierarchical_difference", "hierarchical_mean", "holm", "ids", "Interval", "join_measurements",
    "kl_per_row", "log_ratios", "Loss", "mcnemar", "mean_pass_at_k", "MISMATCH", "Mismatch", "OTHER",
    "pass_at_k", "policy_loss", "PrecisionFiltered", "profile_mismatch", "Recipe", "reinforce_plus_plus",
    "reject_rows", "rejection_for_rate", "rejection_quality", "Remeasured", "returns", "Reward", "reward",
    "sample_by_coverage", "Sampled", "score_norms", "select_window", "set_threads", "sign_flip",
    "signal_metrics", "standardize", "Step", "sum_per_row", "threads", "token_optimal_baseline",
    "TokenAdvantages", "total_turns", "TRAINED", "training_step", "turn_metrics", "turn_signal", "VETO",
    "VOID", "void_turns", "weigh_prompts_by_variance", "wilson",
]  # fmt: skip
