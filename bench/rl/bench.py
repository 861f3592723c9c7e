"""One training step's RL methods (returns, TRLOO, mismatch rejection with veto, coverage sampling, all
metrics) in assay.rl and in PyTorch, on the same processors, each in a process of its own:

    PYTHONPATH=build/release/python python bench/rl/bench.py [--threads 2] [--json out.json]

Time is the median of the repetitions after one warm-up; memory is the growth of the process's peak
resident size during the step, relative to the inputs (two float32 arrays and a byte mask per token).
Exit status 1 if assay.rl is under 5 times as fast or needs more than 10 % beyond the inputs."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

SHAPES = {"768x8192": (768, 8192, 3, 16, 7), "65536x2048": (65536, 2048, 4, 16, 3)}
WANTED_SPEEDUP = 5.0
ALLOWED_MEMORY = 0.10


def peak_kb() -> int:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    raise RuntimeError("no VmHWM in /proc/self/status")


def inputs(rows: int, width: int, turns: int, samples: int):
    """Rows in blocks of `turns`; responses of 10 to 100 % of the width, filled row by row so that making
    them needs no temporary of their size."""
    import numpy as np

    rng = np.random.default_rng(7)
    trajectories = rows // turns
    b = {
        "group": np.repeat(np.arange(trajectories) // samples, turns),
        "trajectory": np.repeat(np.arange(trajectories), turns),
        "turn": np.tile(np.arange(turns), trajectories),
        "reward": np.where(rng.random(rows) < 0.5, 0.0, rng.random(rows) * 2.5),
        "correct": rng.random(rows) < 0.5,
        "speedup": rng.random(rows) * 3,
        "coverage": rng.random(rows),
    }
    b["logp_train"] = np.zeros((rows, width), np.float32)
    b["logp_rollout"] = np.zeros((rows, width), np.float32)
    b["mask"] = np.zeros((rows, width), np.uint8)
    length = rng.integers(width // 10, width + 1, rows)
    drift = np.repeat(rng.normal(0, 7e-4, trajectories), turns)
    for i in range(rows):
        n = length[i]
        logp = -rng.standard_exponential(n, dtype=np.float32)
        b["logp_rollout"][i, :n] = logp
        b["logp_train"][i, :n] = logp + rng.standard_normal(n, dtype=np.float32) * 0.01 + drift[i]
        b["mask"][i, :n] = 1
    return b


def assay_step(b, threads):
    import numpy as np

    import assay.rl as rl

    rl.set_threads(threads)

    def run():
        batch = rl.Batch(
            group=b["group"], trajectory=b["trajectory"], turn=b["turn"], reward=b["reward"]
        )
        result = rl.advantages("trloo", batch=batch)
        mismatch = rl.correct_mismatch(
            batch, b["logp_train"], b["logp_rollout"], b["mask"], rejection="geometric",
            lower=0.999, upper=1.001, veto=1e-4, inplace=True,
        )  # fmt: skip
        sampled = rl.sample_by_coverage(
            batch, mismatch.state, correct=b["correct"], coverage=b["coverage"], seed=1, step=1,
            inplace=True,
        )  # fmt: skip
        metrics = mismatch.metrics | sampled.metrics
        metrics |= rl.signal_metrics(sampled.state, result.advantage, result.population)
        metrics |= rl.rejection_quality(sampled.state, b["correct"], b["speedup"])
        return metrics

    def restore():
        np.not_equal(b["mask"], 0, out=b["mask"].view(np.bool_))

    return run, restore


def torch_step(b, threads, turns):
    import torch
    import torch_step as reference

    torch.set_num_threads(threads)
    tensors = {k: torch.from_numpy(v.view("bool") if k == "mask" else v) for k, v in b.items()}

    @torch.no_grad()
    def run():
        _, _, metrics = reference.step(tensors, turns)
        return {k: float(v) for k, v in metrics.items()}

    return run, lambda: None


def child(which: str, shape: str, threads: int, repeats: int) -> None:
    rows, width, turns, samples, _ = SHAPES[shape]
    if which == "torch":
        import torch  # noqa: F401  its own footprint is not the step's
    b = inputs(rows, width, turns, samples)
    size = sum(v.nbytes for v in b.values())
    run, restore = assay_step(b, threads) if which == "assay" else torch_step(b, threads, turns)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current size
    before = peak_kb()
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        metrics = run()
        times.append(time.perf_counter() - start)
        restore()
    extra = (peak_kb() - before) * 1024
    print(json.dumps({"seconds": statistics.median(times[1:]), "best": min(times[1:]),
                      "extra_memory": extra / size, "input_bytes": size, "metrics": metrics}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--shape", choices=SHAPES, action="append")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        which, shape, threads, repeats = arguments.child
        child(which, shape, int(threads), int(repeats))
        return 0
    report, good = {}, True
    for shape in arguments.shape or SHAPES:
        results = {}
        for which in ("torch", "assay"):
            command = [sys.executable, __file__, "--child", which, shape, str(arguments.threads),
                       str(SHAPES[shape][4])]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            results[which] = json.loads(done.stdout)
        a, t = results["assay"], results["torch"]
        # Both saw the same batch: what does not depend on the draws must agree (float32 sums).
        for name in ("kl", "training_ppl", "rollout_rs_masked_fraction", "advantage_sum_before"):
            x, y = a["metrics"][name], t["metrics"][name]
            if abs(x - y) > 2e-3 * max(1e-3, abs(y)):
                print(f"{shape}: {name} is {x} in assay.rl and {y} in PyTorch", file=sys.stderr)
                good = False
        speedup = t["seconds"] / a["seconds"]
        good = good and speedup >= WANTED_SPEEDUP and a["extra_memory"] <= ALLOWED_MEMORY
        report[shape] = {
            "threads": arguments.threads, "assay_seconds": a["seconds"],
            "torch_seconds": t["seconds"], "speedup": speedup, "input_bytes": a["input_bytes"],
            "assay_extra_memory": a["extra_memory"], "torch_extra_memory": t["extra_memory"],
        }  # fmt: skip
        print(f"{shape}: assay.rl {a['seconds'] * 1e3:.1f} ms, PyTorch {t['seconds'] * 1e3:.1f} ms, "
              f"{speedup:.1f} times as fast; memory beyond the inputs {a['extra_memory']:.1%} "
              f"against {t['extra_memory']:.0%}", flush=True)  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
