"""Random ragged batches in two layouts: dense padded blocks for the reference, and shuffled rows with
flat tokens and no padding for assay.rl."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

import assay.rl as rl


@dataclass
class Dense:
    """(prompts * samples * turns) rows in blocks of `turns`, padding rows on the left."""

    turns: int
    group: torch.Tensor
    trajectory: torch.Tensor
    turn: torch.Tensor
    reward: torch.Tensor
    keep: torch.Tensor
    real: torch.Tensor
    mask: torch.Tensor  # float64 (rows, width), response tokens; 0 on padding rows
    train: torch.Tensor
    rollout: torch.Tensor
    correct: torch.Tensor
    coverage: torch.Tensor

    @property
    def member(self) -> torch.Tensor:
        return self.real & self.keep.bool()

    @property
    def population(self) -> torch.Tensor:
        return self.mask * self.keep[:, None]


def dense(seed: int, prompts=4, samples=5, turns=3, width=17, noise=0.05) -> Dense:
    g = torch.Generator().manual_seed(seed)
    rows = prompts * samples * turns
    uniform = lambda *s: torch.rand(*s, generator=g, dtype=torch.float64)  # noqa: E731
    length = torch.randint(1, turns + 1, (prompts * samples,), generator=g)
    position = torch.arange(turns).repeat(prompts * samples)
    first = turns - length.repeat_interleave(turns)
    real = position >= first
    turn = torch.where(real, position - first + 1, -1)
    reward = torch.where(uniform(rows) < 0.4, 0.0, uniform(rows) * 2) * real
    keep = ((uniform(rows) < 0.85) & real).double()
    tokens = torch.randint(0, width + 1, (rows,), generator=g)
    mask = ((torch.arange(width) < tokens[:, None]) & real[:, None]).double()
    gaps = uniform(rows, width) < 0.9
    mask = mask * gaps
    train = -uniform(rows, width) * 3
    rollout = train - torch.randn(rows, width, generator=g, dtype=torch.float64) * noise
    junk = mask == 0
    train[junk], rollout[junk] = float("nan"), float("inf")
    return Dense(
        turns=turns,
        group=torch.arange(prompts).repeat_interleave(samples * turns),
        trajectory=torch.arange(prompts * samples).repeat_interleave(turns),
        turn=turn,
        reward=reward,
        keep=keep,
        real=real,
        mask=mask,
        train=train,
        rollout=rollout,
        correct=uniform(rows) < 0.6,
        coverage=uniform(rows) * 0.7,
    )


@dataclass
class Ragged:
    batch: rl.Batch
    rows: np.ndarray  # dense row of each ragged row
    offsets: np.ndarray
    mask: np.ndarray
    columns: np.ndarray  # dense column of each token

    def tokens(self, dense_tokens: torch.Tensor) -> np.ndarray:
        row_of = np.repeat(self.rows, np.diff(self.offsets))
        return np.ascontiguousarray(dense_tokens.numpy()[row_of, self.columns])

    def to_dense(self, flat: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        out = np.zeros(shape, flat.dtype)
        out[np.repeat(self.rows, np.diff(self.offsets)), self.columns] = flat
        return out

    def rows_to_dense(self, values: np.ndarray, n: int) -> np.ndarray:
        out = np.zeros(n, values.dtype)
        out[self.rows] = values
        return out


def ragged(d: Dense, seed: int) -> Ragged:
    """Drops padding rows and each row's tail, shuffles the rows, and marks void turns."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.flatnonzero(d.real.numpy()))
    mask = d.mask.numpy()[rows]
    ends = np.array([np.flatnonzero(m)[-1] + 1 if m.any() else 0 for m in mask], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(ends)])
    columns = np.concatenate([np.arange(e) for e in ends]) if len(ends) else np.zeros(0, int)
    flat = np.concatenate([m[:e] for m, e in zip(mask, ends)]).astype(np.uint8)
    keep = d.keep.numpy()[rows]
    batch = rl.Batch(
        group=d.group.numpy()[rows],
        trajectory=d.trajectory.numpy()[rows] * 7 + 3,
        turn=d.turn.numpy()[rows],
        reward=d.reward.numpy()[rows],
        keep=keep,
    )
    state = rl.reject_rows(flat, np.where(keep > 0, 0, rl.VOID), offsets=offsets)
    return Ragged(batch, rows, offsets, state, columns)
