"""Calls a submission a few times on public inputs, for tools that look into a run from outside.

``python -m assay.runtime.replay PLAN.json``. Nothing here is secret: the inputs come from a fixed seed
that is no seed of any judging, and nothing that happens here counts for a verdict. The plan names two
files, ``task`` and ``submission``, and says ``entry``, ``size``, ``device`` and ``precision`` as the
judge has them.
"""

import json
import os
import sys

import torch

from . import modules

SEED = 20260101
DONE = "assay: the replay came to its end"  # on standard error; the worker looks for it
WARM_CALLS = 1  # compiles, autotunes, fills its buffers; profilers do not look yet


def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    # Standard output belongs to the tool.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    run(plan)
    os.write(2, f"\n{DONE}\n".encode())


def run(plan: dict) -> None:
    device = plan["device"]
    task = modules.load_task(plan["task"], "assay_replayed_task", plan["size"])
    modules.Flags().under(plan["precision"]).apply()
    modules.seed_everything(SEED)
    init_inputs = moved(list(task.get_init_inputs()), device)
    reference = modules.build(getattr(task, plan["entry"]), init_inputs, SEED, device)
    state = {name: value for name, value in states_of(reference)}
    inputs = moved(list(task.get_inputs()), device)
    submission = modules.load_file(plan["submission"], "submission")
    model = modules.build(submission.ModelNew, init_inputs, SEED, device)
    modules.load_state(model, list(state), list(state.values()))
    del reference, state
    with torch.no_grad():
        for _ in range(WARM_CALLS):
            model(*inputs)
        synchronize(device)
        profiler(device, "start")
        model(*inputs)
        synchronize(device)
        profiler(device, "stop")


def states_of(model) -> list:
    if not isinstance(model, torch.nn.Module):
        return []
    return [(name, value) for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)]


def moved(value, device: str):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: moved(item, device) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(moved(item, device) for item in value)
    return value


def synchronize(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def profiler(device: str, order: str) -> None:
    """Tells the tool from where to where it is to look."""
    if device != "cpu":
        getattr(torch.cuda.profiler, order)()


if __name__ == "__main__":
    main(sys.argv[1])
