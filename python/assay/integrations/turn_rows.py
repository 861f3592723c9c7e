"""Engines with one row per turn (verl, SkyRL): their estimators see a reward tensor, a mask and one
identifier per row, so the identifier carries prompt, trajectory and turn.

    uid = encode("prompt-17", sample, turn, void=False)        # set where rows are made
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import assay.rl as rl

_SEPARATOR = "\x1f"  # not in anybody's identifiers


def encode(prompt: object, trajectory: object, turn: int, *, void: bool = False) -> str:
    """An identifier for one row. Padding rows have turn -1, void turns (see rl.void_turns) say so."""
    return _SEPARATOR.join((str(prompt), str(trajectory), str(int(turn)), "void" if void else ""))


def decode(index: np.ndarray) -> dict[str, np.ndarray]:
    """group, trajectory, turn, keep of each row. An identifier that was not encoded is a prompt, and
    its row a trajectory of one turn."""
    group, trajectory, turn, keep = [], [], [], []
    for row, uid in enumerate(index):
        parts = str(uid).split(_SEPARATOR)
        if len(parts) == 4:
            group.append(parts[0])
            trajectory.append(f"{parts[0]}{_SEPARATOR}{parts[1]}")
            turn.append(int(parts[2]))
            keep.append(parts[3] != "void")
        else:
            group.append(str(uid))
            trajectory.append(f"{uid}{_SEPARATOR}row {row}")
            turn.append(1)
            keep.append(True)
    return {
        "group": np.array(group),
        "trajectory": np.array(trajectory),
        "turn": np.array(turn),
        "keep": np.array(keep),
    }


def estimator(name: str, **options: Any) -> Callable:
    """The named estimator of rl.advantages as a function (token_level_rewards, response_mask, index,
    …) -> (advantages, returns), all tensors (rows, width). A row's reward is the sum of its token
    rewards; gamma comes from the call or from config.gamma."""

    def estimate(
        token_level_rewards: Any,
        response_mask: Any,
        index: np.ndarray,
        config: Any = None,
        gamma: float | None = None,
        **_: Any,
    ) -> tuple[Any, Any]:
        if gamma is None:
            gamma = 1.0 if config is None else float(config.get("gamma", 1.0))
        reward = token_level_rewards.detach().sum(-1).double().cpu()
        result = rl.advantages(name, **decode(index), reward=reward, gamma=gamma, **options)

        def spread(scalar: np.ndarray) -> Any:
            column = token_level_rewards.new_tensor(scalar).unsqueeze(-1)
            return column * response_mask.to(column.dtype)

        return spread(result.advantage), spread(result.value)

    estimate.__name__ = f"assay_{name}"
    estimate.__doc__ = f"rl.advantages({name!r}) over rows whose index was made by encode()."
    return estimate


#: Estimators that need nothing but rewards.
NAMES = (
    "trloo", "grpo", "turn_independent_grpo", "erloo", "erloo_norm", "reinforce", "grpo_std", "rloo",
    "dr_grpo",
)  # fmt: skip
