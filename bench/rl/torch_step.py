"""The same training step written in PyTorch as a careful engineer would: float32 token tensors, no
Python loops, every temporary that is used twice computed once."""

from __future__ import annotations

import math

import torch


def group_sum(x: torch.Tensor, cell: torch.Tensor, cells: int) -> torch.Tensor:
    return torch.zeros(cells, dtype=x.dtype).index_add_(0, cell, x)[cell]


def step(b: dict[str, torch.Tensor], turns: int) -> tuple[torch.Tensor, torch.Tensor, dict]:
    """(advantage per row, token mask, metrics). Rows come in blocks of `turns` per trajectory."""
    metrics: dict[str, torch.Tensor] = {}
    mask = b["mask"]

    # Returns and TRLOO.
    g = b["reward"].double().reshape(-1, turns).clone()
    for t in range(turns - 2, -1, -1):
        g[:, t] += g[:, t + 1]
    g = g.reshape(-1)
    key = b["group"] * turns + b["turn"]
    cell, inverse = torch.unique(key, return_inverse=True)
    n = group_sum(torch.ones_like(g), inverse, len(cell))
    advantage = torch.where(n > 1, g - (group_sum(g, inverse, len(cell)) - g) / (n - 1).clamp(min=1), g)

    # Mismatch rejection at trajectory level, with a veto per turn.
    fmask = mask.float()
    log_rho = torch.where(mask, b["logp_train"] - b["logp_rollout"], 0.0)
    tokens = fmask.sum(1)
    row_log = log_rho.sum(1)
    trajectory_log = row_log.reshape(-1, turns).sum(1)
    trajectory_n = tokens.reshape(-1, turns).sum(1)
    mean_log = (trajectory_log / trajectory_n.clamp(min=1)).repeat_interleave(turns)
    weight = torch.exp(mean_log.clamp(-20, 20))
    keep = (weight >= 0.999) & (weight <= 1.001)
    bad = log_rho < math.log(1e-4)
    vetoed = bad.any(1)
    rows = tokens > 0
    total = tokens.sum()

    # Metrics of the mismatch.
    rho = torch.exp(log_rho.clamp(-20, 20))
    metrics["kl"] = -row_log.sum() / total
    metrics["k3_kl"] = ((rho - log_rho - 1) * fmask).sum() / total
    metrics["chi2_token"] = (rho.square() * fmask).sum() / total - 1
    metrics["chi2_seq"] = torch.exp(2 * row_log[rows].clamp(-20, 20)).mean() - 1
    count = tokens.clamp(min=1)
    nll_train = -((b["logp_train"] * fmask).sum(1) / count)[rows]
    nll_rollout = -((b["logp_rollout"] * fmask).sum(1) / count)[rows]
    gap = nll_train - nll_rollout
    metrics |= {
        "training_ppl": nll_train.exp().mean(), "training_log_ppl": nll_train.mean(),
        "rollout_ppl": nll_rollout.exp().mean(), "rollout_log_ppl": nll_rollout.mean(),
        "log_ppl_diff": gap.mean(), "log_ppl_abs_diff": gap.abs().mean(),
        "log_ppl_diff_max": gap.max(), "log_ppl_diff_min": gap.min(), "ppl_ratio": gap.exp().mean(),
    }  # fmt: skip
    bounded = weight.clamp(0.999, 1.001)
    mean_bounded = (bounded * tokens).sum() / total
    square = (bounded.square() * tokens).sum() / total
    w = weight[rows]
    metrics |= {
        "rollout_rs_mean": (weight * tokens).sum() / total,
        "rollout_rs_max": mean_log[rows].max().exp(), "rollout_rs_min": mean_log[rows].min().exp(),
        "rollout_rs_std": (square - mean_bounded.square()).clamp(min=0).sqrt(),
        "rollout_rs_eff_sample_size": mean_bounded.square() / square,
        "rollout_rs_ratio_fraction_high": ((weight > 1.001) * tokens).sum() / total,
        "rollout_rs_ratio_fraction_low": ((weight < 0.999) * tokens).sum() / total,
        "rollout_rs_seq_mean": w.mean(), "rollout_rs_seq_std": w.std(),
        "rollout_rs_seq_max": w.max(), "rollout_rs_seq_min": w.min(),
        "rollout_rs_seq_max_deviation": (w - 1).abs().max(),
        "rollout_rs_masked_fraction": (tokens * ~keep).sum() / total,
        "rollout_rs_seq_masked_fraction": (~keep)[rows].float().mean(),
        "rollout_is_veto_fraction": vetoed[rows].float().mean(),
        "rollout_is_catastrophic_token_fraction": bad.sum() / total,
    }  # fmt: skip
    kept_rows = keep & ~vetoed
    edited = mask & kept_rows[:, None]

    # Coverage sampling.
    before = edited.sum(1)
    p = torch.where(b["correct"], ((b["coverage"] - 0.3) / 0.1).clamp(0, 1), 1.0)
    drawn = torch.rand(len(p), dtype=torch.float64) < p
    edited &= drawn[:, None]
    metrics["coverage_rs_masked_fraction"] = (before * ~drawn).sum() / before.sum().clamp(min=1)
    metrics["coverage_rs_seq_masked_fraction"] = (~drawn).reshape(-1, turns).any(1).float().mean()
    metrics["coverage_rs_correct_only_masked_fraction"] = (~drawn)[b["correct"]].float().mean()
    metrics["coverage_rs_mean_coverage"] = b["coverage"].mean()
    metrics["coverage_rs_min_coverage"] = b["coverage"].min()
    metrics["coverage_rs_max_coverage"] = b["coverage"].max()

    # What it did to the signal, and to what.
    trained = edited.sum(1).double()
    metrics["trained_fraction"] = trained.sum() / total
    metrics["advantage_sum"] = (advantage * trained).sum()
    metrics["advantage_sum_before"] = (advantage * tokens).sum()
    metrics["single_fraction"] = (n == 1).double().mean()
    gone, there = rows & (trained == 0), trained > 0
    for name, chosen in (("masked", gone), ("non_masked", there)):
        correct, speed = b["correct"][chosen], b["speedup"][chosen]
        metrics[f"{name}/correct_rate"] = correct.float().mean()
        metrics[f"{name}/mean_performance"] = speed[correct].mean()
        for at in (1.0, 1.2, 1.5, 2.0, 3.0):
            metrics[f"{name}/fast@{at}_in_all"] = (correct & (speed >= at)).float().mean()
    return advantage, edited, metrics
