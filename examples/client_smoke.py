"""Checks a running Kernel Env server end to end: one task, one bad and one good submission.

    python examples/client_smoke.py --url http://127.0.0.1:8000

The server's key, where it wants one: --key, or the variable KERNEL_ENV_API_KEY.
Needs the client package (pip install "openenv-core[core]==0.3.0" ./kernel_env) and no GPU of its own. Exit
code 0: the server judged the ReLU example correct and, on a GPU, timed it, placed it on the roofline and paid
more than 0.3 for it. On a server without a GPU the verdict is real but the times are not, so there only the
verdict is required.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from kernel_env import KernelAction, KernelEnv
from kernel_env.http import address

TASK = "assay/relu"
EXAMPLE = Path(__file__).resolve().parent / "relu.py"


class Failed(Exception):
    """A check that did not hold."""


def require(condition: Any, what: str) -> None:
    print(("ok    " if condition else "FAIL  ") + what)
    if not condition:
        raise Failed(what)


def get(url: str, key: str | None, path: str) -> dict[str, Any]:
    bare, headers = address(url, key)
    with urllib.request.urlopen(urllib.request.Request(bare.rstrip("/") + path, headers=headers), timeout=10) as response:
        return json.load(response)


def check(url: str, key: str | None, task_id: str) -> None:
    health = get(url, key, "/health")
    require(health["status"] == "healthy", "the server is healthy")
    schema = get(url, key, "/schema")
    require(schema["action"]["required"] == ["code"], "an action has one required field, code")

    with KernelEnv(url, api_key=key).sync() as env:
        ready = env.reset(task_id=task_id, seed=0, max_turns=2)
        require(not ready.done and ready.reward is None, "a reset begins an episode")
        require("relu" in ready.observation.reference_code.lower(), f"{task_id} is a ReLU")

        bad = env.step(KernelAction(code="def broken(:\n"))
        require(bad.observation.status == "invalid_submission" and bad.reward == 0,
                "a syntax error is an invalid submission and pays nothing")
        require(bad.observation.feedback, "and says why")

        good = env.step(KernelAction(code=EXAMPLE.read_text()))
        seen = good.observation
        require(seen.status == "correct", f"{EXAMPLE.name} is {seen.status}" +
                ("" if seen.correct else f": {seen.feedback}"))
        # Not the reset's: a server answers before its GPU is warm, and says nothing of it until then.
        report(good, get(url, key, "/health")["hardware"])
        require(good.done and seen.done_reason == "turn_limit", "two turns end the episode")

        over = env.step(KernelAction(code="pass"))
        require(over.observation.status == "episode_over" and over.reward == 0, "then nothing is judged any more")
        require(env.state().step_count == 2, "and nothing is counted")


def report(result: Any, hardware: dict[str, Any]) -> None:
    """Shows times and reward, and requires of them what the server's device allows."""
    seen = result.observation
    timing = seen.timing or {}
    print(f"      judged in {seen.eval_ms or 0:.0f} ms on {hardware.get('gpu') or 'a CPU'}, "
          f"torch {hardware.get('torch', '?')}")
    if hardware.get("device") != "cuda":
        print("      The server has no GPU: the kernel ran in Triton's interpreter, so its times mean nothing and "
              "there is no reward by time. The verdict is as strict as on a GPU.")
        require(seen.masked or result.reward >= 0, "and the reward is marked as missing" if seen.masked else
                "the reward of this mode needs no times")
        return
    require(timing.get("meaningful") and timing["median_us"] > 0 and timing["baseline_us"] > 0,
            "kernel and reference were timed")
    print(f"      {timing['median_us']:.2f} us, reference {timing['baseline_us']:.2f} us, "
          f"speedup {seen.speedup:.2f}")
    require(seen.roofline and seen.sol_fraction, "the kernel has a place on the roofline")
    print(f"      t_min {seen.roofline['bound_us']:.2f} us ({seen.roofline['limiter']}), "
          f"{100 * seen.sol_fraction:.0f} % of the roofline")
    require(not seen.masked, f"there is a reward ({seen.reward_note})")
    require(result.reward > 0.3, f"the reward {result.reward:.3f} is above 0.3")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--key", help="the server's key, where it wants one (default: KERNEL_ENV_API_KEY)")
    parser.add_argument("--task", default=TASK, help=f"a ReLU task of the server (default: {TASK})")
    arguments = parser.parse_args()
    try:
        check(arguments.url, arguments.key, arguments.task)
    except Failed:
        return 1
    except OSError as error:
        print(f"FAIL  {address(arguments.url)[0]} does not answer: {error}")
        return 1
    print("All checks passed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
