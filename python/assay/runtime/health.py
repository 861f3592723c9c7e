"""The task health screen: what trivial programs does a task let pass?

``screen`` tries, in every input family that the task admits, programs that compute nothing:

    zeros, ones, constant    the best constant is the mean of each output for other inputs (of integers, the
                             most frequent)
    input[i]                 an input that has the output's shape
    previous                 the output for other inputs: passes where the output hardly depends on them

Each is set against three rules: ``assay``, the numeric rule of the trials; ``kernelbench``, allclose at
1e-4 for float32; ``half``, allclose at 1e-2. A task is *void* when one of them passes Assay's rule in all
families that its trials use: its score means nothing. For the other two rules the native inputs decide,
as they do where those rules are used.
Two more are told but void nothing: ``other_weights``, the reference with other weights, and inputs that
change no output when they are exchanged.

    python -m assay.runtime.health TASKS.jsonl --device cuda > HEALTH.jsonl

screens many: a line ``{"id", "sha256", "source", "entry"}`` each, one ``assay.task_health/1`` object
as the answer, or ``{"id", "error"}``.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time

import torch

from . import chance, compare, families, stochastic, tree

SCHEMA = "assay.task_health/1"
HALF = 1e-2  # KernelBench's for half precision, and for float32 until it was narrowed
VOIDS = ("zeros", "ones", "constant", "input", "previous")


class OutOfTime(Exception):
    """The screen of a task takes longer than it may."""


def screen(task, limit_s: float = 60.0) -> dict:
    """Screens a loaded ``task.Task``. Raises OutOfTime, and whatever the reference raises."""
    begin = time.monotonic()
    if task.device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    findings, unused = [], None
    for family in task.families:
        for program, outputs, expected in _programs(task, family):
            if time.monotonic() - begin > limit_s:
                raise OutOfTime(f"the screen took longer than {limit_s:g} s (in {family}, {program})")
            rules = _rules_passed(task, family, outputs, *expected)
            if rules:
                findings.append({"family": family, "program": program, "rules": rules})
        idle = _unused_inputs(task, family)
        unused = idle if unused is None else [i for i in unused if i in idle]
    return {
        "schema": SCHEMA,
        "families": list(task.families),
        "findings": findings,
        # Inputs that never change can be told from those of the other families, and answered from memory.
        "void": _void(findings, [families.NATIVE] if task.same_inputs else task.families, "assay"),
        "void_kernelbench": _void(findings, [families.NATIVE], "kernelbench"),
        "void_half": _void(findings, [families.NATIVE], "half"),
        "unused_inputs": unused or [],
        "stochastic": bool(task.random),
        "float64": task.exact is torch.float64,
        "memory_bytes": 0 if task.device == "cpu" else torch.cuda.max_memory_allocated(),
        "reference_us": task.reference_us,
        "seconds": round(time.monotonic() - begin, 3),
    }


def _programs(task, family: str):
    """(name, outputs, (eager, exact)) of each trivial program, one at a time: outputs may be gigabytes."""
    task.build(seed=21)
    previous = tree.flatten(task.run(task.model, task.draw(23, family), 11))[1]
    inputs = task.draw(22, family)
    eager, exact = task.expected(inputs, True)
    yield "previous", previous, (eager, exact)
    yield "constant", [_constant(t) for t in previous], (eager, exact)
    del previous
    for name, make in (("zeros", torch.zeros_like), ("ones", torch.ones_like)):
        yield name, [make(t) for t in eager], (eager, exact)
    for i, tensor in enumerate(tree.flatten(inputs)[1]):
        if all(tensor.shape == t.shape and tensor.dtype == t.dtype for t in eager):
            yield f"input[{i}]", [tensor] * len(eager), (eager, exact)
    del inputs
    if task.state_bytes:
        inputs = task.draw(22, family)
        task.build(seed=31)
        yield "other_weights", tree.flatten(task.run(task.model, inputs, 11))[1], (eager, exact)


def _constant(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_floating_point():
        return torch.full_like(tensor, int(tensor.reshape(-1).mode().values) if tensor.numel() else 0)
    finite = tensor[torch.isfinite(tensor)] if tensor.dtype.itemsize > 1 else tensor.float()
    return torch.full_like(tensor, float(finite.double().mean()) if finite.numel() else 0.0)


def _rules_passed(task, family: str, outputs, eager, exact) -> list[str]:
    # Eager's own error is told by this very comparison; where float64 cannot be had there is none.
    passed = all(
        compare.compare(
            y, e, exact[k] if exact and e.is_floating_point() else None, compare.EagerError(), task.precision
        )["passed"]
        for k, (y, e) in enumerate(zip(outputs, eager))
        if k not in task.random
    )
    passed = passed and not (task.random and _refused(task, family, outputs))
    rules = ["assay"] if passed else []
    rules += ["kernelbench"] if compare.kernelbench(outputs, eager) else []
    return rules + (["half"] if compare.kernelbench(outputs, eager, HALF) else [])


def _refused(task, family: str, outputs) -> dict | None:
    """The trial of random outputs, of a program that returns ``outputs`` in every call."""
    task.build(seed=21)
    lane = chance.Chance(task)
    lane.begin(task.draw(22, family), 22)
    for _ in range(stochastic.draw_counts(task.random_elements, task.reference_us)[2]):
        lane.add(outputs)
    return lane.finish()


def _unused_inputs(task, family: str) -> list[int]:
    """Inputs that may be exchanged without any change of an output's bits."""
    if task.random:
        return []
    task.build(seed=21)
    inputs = task.draw(22, family)
    before = tree.flatten(task.run(task.model, inputs, 11))[1]
    unused = []
    for i in range(len(task.input_places)):
        # Drawn again for each: a reference may write its inputs.
        spec, mixed = tree.flatten(task.draw(22, family))
        other = tree.flatten(task.draw(23, family))[1][i]
        if torch.equal(mixed[i], other):
            continue  # it is always the same
        mixed[i] = other
        after = tree.flatten(task.run(task.model, tree.unflatten(spec, mixed, task.device), 11))[1]
        if all(torch.equal(a.nan_to_num() if a.is_floating_point() and a.dtype.itemsize > 1 else a,
                           b.nan_to_num() if b.is_floating_point() and b.dtype.itemsize > 1 else b)
               for a, b in zip(before, after)):
            unused.append(i)
    return unused


def _void(findings: list[dict], asked: list[str], rule: str) -> str:
    """Why the task is void: a trivial program that passes whatever family is asked; "" if none does."""
    for program in sorted({f["program"] for f in findings}, key=_simplicity):
        passed = {f["family"] for f in findings if f["program"] == program and rule in f["rules"]}
        if program.split("[")[0] in VOIDS and passed.issuperset(asked):
            return program
    return ""


def _simplicity(program: str) -> tuple[int, str]:
    kind = program.split("[")[0]
    return (VOIDS.index(kind) if kind in VOIDS else len(VOIDS), program)


def screen_line(line: dict, device: str, size: str, folder: str, limit_s: float) -> dict:
    """Screens one task given by its source."""
    from .task import Task

    sha256 = hashlib.sha256(line["source"].encode()).hexdigest()
    about = {"id": line["id"], "sha256": line.get("sha256", sha256), "device": device, "size": size}
    try:
        task = Task(line["source"], line.get("entry", "Model"), size, device, folder)
        return {**about, **screen(task, limit_s)}
    except Exception as error:  # the task's own code may raise anything
        return {**about, "error": f"{type(error).__name__}: {error}"[:500]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="assay.runtime.health")
    parser.add_argument("tasks", help='a file of JSON lines {"id", "sha256", "source", "entry"}; - is standard input')
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--size", default="", choices=["", "cpu", "gpu"])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a task")
    parser.add_argument("--memory", type=float, default=0.9, help="share of the card's memory")
    options = parser.parse_args()
    size = options.size or ("cpu" if options.device == "cpu" else "gpu")
    if options.device == "cuda":
        torch.cuda.set_per_process_memory_fraction(options.memory)
    answers = os.dup(1)
    os.dup2(2, 1)  # what a task prints is no answer
    source = sys.stdin if options.tasks == "-" else open(options.tasks, encoding="utf-8")
    with source as lines, os.fdopen(answers, "w") as out, tempfile.TemporaryDirectory(prefix="assay-health-") as folder:
        for line in lines:
            if line.strip():
                result = screen_line(json.loads(line), options.device, size, folder, options.limit)
                print(json.dumps(result), file=out, flush=True)
                if options.device == "cuda":
                    torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
