"""An independent implementation in PyTorch, on dense padded tensors: (rows, width) tokens, and rows in
blocks of `turns` per trajectory with padding rows on the left. It follows the formulas directly, shares
no code with assay.rl, and is what bench/rl measures against."""

from __future__ import annotations

import math

import torch

SAFETY = 20.0


def turn_returns(reward: torch.Tensor, keep: torch.Tensor, turns: int, gamma: float) -> torch.Tensor:
    block = (reward * keep).reshape(-1, turns).clone()
    for t in range(turns - 2, -1, -1):
        block[:, t] += gamma * block[:, t + 1]
    return block.reshape(-1)


def cells(*keys: torch.Tensor) -> torch.Tensor:
    return torch.unique(torch.stack(keys, 1), dim=0, return_inverse=True)[1]


def group_sum(x: torch.Tensor, cell: torch.Tensor) -> torch.Tensor:
    """Sum over each cell, at each row."""
    return torch.zeros(int(cell.max()) + 1, dtype=x.dtype).index_add(0, cell, x)[cell]


def leave_one_out(value, cell, member):
    m = member.to(value.dtype)
    n = group_sum(m, cell)
    others = (group_sum(value * m, cell) - value) / (n - 1).clamp(min=1)
    return torch.where(n > 1, value - others, value) * m


def group_mean(value, cell, member):
    m = member.to(value.dtype)
    n = group_sum(m, cell)
    mean = group_sum(value * m, cell) / n.clamp(min=1)
    return torch.where(member & (n > 1), value - mean, value)


def leave_one_out_norm(value, cell, member):
    advantage = leave_one_out(value, cell, member)
    for i in torch.nonzero(member).flatten().tolist():
        others = [j for j in torch.nonzero(member & (cell == cell[i])).flatten().tolist() if j != i]
        std = value[others].std() if len(others) >= 2 else torch.tensor(1.0, dtype=value.dtype)
        advantage[i] = advantage[i] / (std + 1e-8)
    return advantage


def whiten_batch(value, member):
    chosen = value[member]
    mean, std = (chosen.mean(), chosen.std()) if len(chosen) > 1 else (0.0, 1.0)
    return (value - mean) / (std + 1e-6)


def trajectory_advantage(value, group, scale):
    """value, group per trajectory: GRPO with std, Dr. GRPO, RLOO."""
    out = torch.empty_like(value)
    for i in range(len(value)):
        same = value[group == group[i]]
        if scale == "rloo":
            out[i] = value[i] - (same.sum() - value[i]) / (len(same) - 1) if len(same) > 1 else 0.0
        elif len(same) == 1:
            out[i] = value[i] / (1 + 1e-6) if scale == "std" else value[i]
        else:
            std = same.std() if same.std() >= 1e-6 else torch.tensor(1.0, dtype=value.dtype)
            out[i] = (value[i] - same.mean()) / ((std + 1e-6) if scale == "std" else 1.0)
    return out


def weighted_mean_baseline(value, weight, cell, member):
    m = member.to(value.dtype)
    n = group_sum(m, cell)
    baseline = group_sum(value * weight * m, cell) / (group_sum(weight * m, cell) + 1e-8)
    return torch.where(member & (n > 1), value - baseline, value)


def masked_mean(x, m):
    return (x * m).sum() / m.sum()


def level_log_weight(log_rho, mask, turns, level):
    """(rows, 1) or, for token, (rows, width)."""
    row_sum = (log_rho * mask).sum(1)
    row_n = mask.sum(1)
    if level == "token":
        return log_rho
    if level == "turn":
        return row_sum[:, None]
    if level == "turn_geo":
        return (row_sum / row_n.clamp(min=1))[:, None]
    total = row_sum.reshape(-1, turns).sum(1)
    if level == "geometric":
        total = total / row_n.reshape(-1, turns).sum(1).clamp(min=1)
    return total.repeat_interleave(turns)[:, None]


def weight_metrics(prefix, log_weight, mask, lower, upper):
    w = torch.exp(log_weight.clamp(-SAFETY, SAFETY)).expand_as(mask)
    bounded = w.clamp(lower, upper)
    valid = mask.bool()
    rows = mask.sum(1) > 0
    row_mean = ((w * mask).sum(1) / mask.sum(1).clamp(min=1))[rows]
    raw = log_weight if log_weight.shape[1] == 1 else log_weight.clamp(-SAFETY, SAFETY)
    raw = raw.expand_as(mask)[valid]
    mean_b = masked_mean(bounded, mask)
    square = masked_mean(bounded**2, mask)
    return {
        prefix + "mean": masked_mean(w, mask),
        prefix + "max": torch.exp(raw.max()),
        prefix + "min": torch.exp(raw.min()),
        prefix + "std": torch.sqrt((square - mean_b**2).clamp(min=0)),
        prefix + "eff_sample_size": 1.0 / masked_mean((bounded / mean_b) ** 2, mask),
        prefix + "ratio_fraction_high": masked_mean((w > upper).to(w.dtype), mask),
        prefix + "ratio_fraction_low": masked_mean((w < lower).to(w.dtype), mask),
        prefix + "seq_mean": row_mean.mean(),
        prefix + "seq_std": row_mean.std() if len(row_mean) > 1 else torch.tensor(0.0),
        prefix + "seq_max": row_mean.max(),
        prefix + "seq_min": row_mean.min(),
        prefix + "seq_max_deviation": (row_mean - 1).abs().max(),
        prefix + "seq_fraction_high": (row_mean > upper).double().mean(),
        prefix + "seq_fraction_low": (row_mean < lower).double().mean(),
    }


def divergence_metrics(train, rollout, mask):
    rows = mask.sum(1) > 0
    n = mask.sum(1).clamp(min=1)
    log_rho = train - rollout
    nll_train = -((train * mask).sum(1) / n)[rows]
    nll_rollout = -((rollout * mask).sum(1) / n)[rows]
    gap = nll_train - nll_rollout
    rho = torch.exp(log_rho.clamp(-SAFETY, SAFETY))
    row_log = (log_rho * mask).sum(1)[rows].clamp(-SAFETY, SAFETY)
    return {
        "training_ppl": nll_train.exp().mean(),
        "training_log_ppl": nll_train.mean(),
        "rollout_ppl": nll_rollout.exp().mean(),
        "rollout_log_ppl": nll_rollout.mean(),
        "kl": masked_mean(-log_rho, mask),
        "k3_kl": masked_mean(rho - log_rho - 1, mask),
        "log_ppl_diff": gap.mean(),
        "log_ppl_abs_diff": gap.abs().mean(),
        "log_ppl_diff_max": gap.max(),
        "log_ppl_diff_min": gap.min(),
        "ppl_ratio": gap.exp().mean(),
        "chi2_token": masked_mean(rho**2, mask) - 1,
        "chi2_seq": torch.exp(2 * row_log).mean() - 1,
    }


def spread(cause, turns, scope):
    """cause: (rows,) bool."""
    block = cause.reshape(-1, turns)
    if scope == "trajectory":
        block = block.any(1, keepdim=True).expand(-1, turns)
    if scope == "suffix":
        block = torch.cummax(block.to(torch.uint8), 1)[0].bool()
    return block.reshape(-1)


def mismatch(train, rollout, mask, turns, level, lower, upper, veto=None):
    """Keep mask (rows, width) and metrics of rejection at `level` with an optional turn veto."""
    train = torch.where(mask.bool(), train, 0.0)
    rollout = torch.where(mask.bool(), rollout, 0.0)
    log_rho = train - rollout
    log_weight = level_log_weight(log_rho, mask, turns, level)
    w = torch.exp(log_weight.clamp(-SAFETY, SAFETY))
    keep = ((w >= lower) & (w <= upper)).expand_as(mask).to(mask.dtype)
    metrics = divergence_metrics(train, rollout, mask)
    metrics |= weight_metrics("rollout_rs_", log_weight, mask, lower, upper)
    rows = mask.sum(1) > 0
    dropped = (mask * (1 - keep)).sum(1) > 0
    metrics["rollout_rs_masked_fraction"] = masked_mean(1 - keep, mask)
    metrics["rollout_rs_seq_masked_fraction"] = dropped[rows].double().mean()
    if veto is not None:
        bad = mask.bool() & (log_rho < math.log(veto))
        row_bad = bad.any(1)
        keep = keep * (~row_bad)[:, None].to(mask.dtype)
        metrics["rollout_is_veto_fraction"] = row_bad[rows].double().mean()
        metrics["rollout_is_catastrophic_token_fraction"] = bad.sum() / mask.sum()
    return keep, metrics


def keep_probability(coverage, correct, threshold, width):
    p = ((coverage - threshold) / width).clamp(0, 1) if width else (coverage >= threshold).double()
    return torch.where(correct, p, torch.ones_like(p))


def gae(reward_token, values, mask, gamma, lam):
    advantage = torch.zeros_like(values)
    next_value = torch.zeros(len(values), dtype=values.dtype)
    running = torch.zeros(len(values), dtype=values.dtype)
    for j in range(values.shape[1] - 1, -1, -1):
        m = mask[:, j]
        delta = reward_token[:, j] + gamma * next_value - values[:, j]
        running = torch.where(m > 0, delta + gamma * lam * running, running)
        next_value = torch.where(m > 0, values[:, j], next_value)
        advantage[:, j] = running * m
    return advantage, (advantage + values) * mask


def whiten_tokens(x, mask):
    chosen = x[mask > 0]
    return (x - chosen.mean()) * torch.rsqrt(chosen.var() + 1e-8) * mask


def aggregate(loss, mask, mode, norm_length=None):
    rows = mask.sum(1) > 0
    sums = (loss * mask).sum(1)
    if mode == "token-mean":
        return sums.sum() / mask.sum()
    if mode == "seq-mean-token-sum":
        return sums[rows].mean()
    if mode == "seq-mean-token-mean":
        return (sums[rows] / mask.sum(1)[rows]).mean()
    if mode == "seq-mean-token-sum-norm":
        return sums.sum() / (norm_length or mask.shape[1])
    return sums.sum()


def ppo_terms(logp, old, advantage, low, high, dual):
    q = torch.exp(logp - old)
    loss = torch.maximum(-advantage * q, -advantage * q.clamp(1 - low, 1 + high))
    if dual:
        loss = torch.where(advantage < 0, torch.minimum(loss, -advantage * dual), loss)
    return loss


def kl_terms(logp, reference, kind):
    d = logp - reference
    if kind == "kl":
        return d
    if kind == "abs":
        return d.abs()
    if kind == "mse":
        return 0.5 * d**2
    return (torch.exp((-d).clamp(-SAFETY, SAFETY)) + d - 1).clamp(-10, 10)
