"""What happened, turn by turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from . import _core
from ._arrays import Array, flags, flat
from .advantage import Advantages
from .batch import Batch

#: Ends of a conversation that say nothing about the policy.
ABNORMAL = frozenset({"error", "async_timeout", "no_tool_call"})


def turn_metrics(
    batch: Batch,
    *,
    correct: Array,
    speedup: Array,
    compiled: Array | None = None,
    flagged: Array | None = None,
    abnormal: Array | None = None,
    timeout: Array | None = None,
    time_coverage: Array | None = None,
    number_coverage: Array | None = None,
    told_speedup: Array | None = None,
    thresholds: Sequence[float] = (1.0, 1.2, 1.5, 2.0, 3.0),
    count_abnormal: bool = True,
) -> dict[str, float]:
    """Everything about speed and correctness per turn; names are listed in rl/turn_metrics.h.

    All arrays are (rows,); a sample is a trajectory. correct: and no violation; speedup is read where
    correct. flagged: violations and decoys (hacking/rate). abnormal: turns without a verdict, which
    count as failures unless count_abnormal is false. told_speedup: what the model was told (0: a
    failure), by which selected/ chooses each sample's turn; speedup should then be measured anew.

    turn_k/fast@p_in_all is the usual fast_p of turn k; final/ is each sample's last turn and
    best_by_turn_k/ its best correct one so far (an oracle). ValueError on figures that are not finite.
    """
    return _core.turn_metrics(
        batch.core, flags(correct, "correct"), flat(speedup, "speedup", np.float64),
        flags(compiled, "compiled"), flags(flagged, "flagged"), flags(abnormal, "abnormal"),
        flags(timeout, "timeout"), flat(time_coverage, "time_coverage", np.float64),
        flat(number_coverage, "number_coverage", np.float64),
        flat(told_speedup, "told_speedup", np.float64), list(thresholds), count_abnormal,
    )  # fmt: skip


def turn_signal(batch: Batch, result: Advantages) -> dict[str, float]:
    """The learning signal by turn: turn_k/{rows,kept_rows,mean_reward,mean_return,mean_advantage,
    group_size_mean,group_size_min,single_fraction}."""
    return _core.turn_signal(
        batch.core, flat(result.advantage, "advantage", np.float64),
        flat(result.value, "value", np.float64), flat(result.population, "population", np.uint32),
    )  # fmt: skip


def finish_reasons(reasons: Iterable[str]) -> dict[str, float]:
    """Shares of the conversations' ends: finish_reason/<reason>, normal_rate, abnormal_rate (error,
    async_timeout, no_tool_call)."""
    counts = Counter(str(r) for r in reasons)
    n = counts.total()
    shares = {f"finish_reason/{reason}": count / n for reason, count in sorted(counts.items())}
    abnormal = sum(count for reason, count in counts.items() if reason in ABNORMAL)
    rate = abnormal / n if n else 0.0
    return shares | {"abnormal_rate": rate, "normal_rate": 1.0 - rate if n else 0.0}
