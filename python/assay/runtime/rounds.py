"""The loop of rounds: wait for *go*, call the module on K inputs, hand over K results, say *done*.

Candidate and reference run this very code, so whatever it costs is on both sides of the ratio.
Checked, warm-up and timed rounds look alike to the module.
"""

import time

import torch

from . import tree

GO_TIMEOUT_S = 600.0  # the worker's own deadlines are far shorter; this only ends an orphan


class Slots:
    """The arena as the module sees it: inputs of each slot, and where its results go."""

    def __init__(self, device: str, inputs: torch.Tensor, outputs: torch.Tensor, plan: dict):
        """``plan``: structure and places of one slot, the slot sizes in bytes and their number."""
        self.args = []
        self.results = []
        for slot in range(plan["slots"]):
            base = plan["inputs_at"] + slot * plan["input_bytes"]
            tensors = [tree.view(inputs, place, base) for place in plan["input_places"]]
            self.args.append(tree.unflatten(plan["input_tree"], tensors, device))
            base = slot * plan["output_bytes"]
            self.results.append([tree.view(outputs, place, base) for place in plan["output_places"]])
        self.output_tree = plan["output_tree"]
        self.private_inputs = plan["private_inputs"]
        self.stochastic = plan["stochastic"]
        self.report_mutation = False


class Refused(Exception):
    """Something that the contract of a submission rules out; ``kind`` as in the worker's table."""

    def __init__(self, kind: str, name: str, message: str):
        super().__init__(message)
        self.kind = kind
        self.name = name


def wrong(name: str, message: str) -> Refused:
    return Refused("mismatch", name, message)


def check_output(value, slots: Slots) -> list[torch.Tensor]:
    """The tensors of a result, or Refused with what is wrong and what was expected."""
    try:
        spec, tensors = tree.flatten(value)
    except tree.Unsupported as error:
        raise wrong("structure", f"the output contains {error}") from None
    if spec != slots.output_tree:
        raise wrong(
            "structure", f"the output is {outline(spec)}, the reference returns {outline(slots.output_tree)}"
        )
    for index, (tensor, place) in enumerate(zip(tensors, slots.results[0])):
        where = f"output {index}" if len(tensors) > 1 else "the output"
        if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
            raise wrong("type", f"{where} is a {type(tensor).__name__}, not a plain torch.Tensor")
        if tensor.shape != place.shape:
            raise wrong("shape", f"{where} has shape {tuple(tensor.shape)}, expected {tuple(place.shape)}")
        if tensor.dtype != place.dtype:
            raise wrong("dtype", f"{where} has dtype {tensor.dtype}, expected {place.dtype}")
        if tensor.device.type != place.device.type:
            raise wrong("device", f"{where} is on {tensor.device}, expected {place.device}")
    return tensors


def outline(spec: dict) -> str:
    """A structure in words: "tuple(tensor, None)"."""
    kind = spec["k"]
    if kind in ("list", "tuple"):
        return f"{kind}({', '.join(outline(item) for item in spec['v'])})"
    if kind == "dict":
        return "dict(" + ", ".join(f"{key}: {outline(item)}" for key, item in spec["v"]) + ")"
    if kind in ("int", "float", "value"):
        return f"the number {spec['v']}" if kind != "value" else repr(spec["v"])
    return {"tensor": "tensor", "none": "None"}.get(kind, kind)


class Rounds:
    """Serves rounds for one module until the worker stops the loop."""

    def __init__(self, device: str, control, slots: Slots, first_round: int):
        self.device = device
        self.control = control
        self.slots = slots
        self.round = first_round
        self.reused = False  # the module returns one buffer again and again: take each result at once
        self.error: BaseException | None = None

    def serve(self, model, dummies: list | None = None) -> None:
        """Runs rounds until told to stop; an exception in the module ends the loop, in ``error``.

        With ``dummies`` (results made beforehand) no call is made: the round then costs exactly
        what the loop itself costs, which is how the worker calibrates its bracket."""
        with torch.no_grad():
            while self.control.wait_go(self.round, GO_TIMEOUT_S):
                calls, first = self.control.calls(), self.control.first_slot()
                try:
                    inside = self._one(model, first, calls, dummies)
                except BaseException as error:  # SystemExit and KeyboardInterrupt are the module's too
                    self.error = error
                    self.control.done(self.round, [], True)
                    self.round += 1
                    return
                self.control.done(self.round, inside, False)
                self.round += 1
            self.round += 1

    def _one(self, model, first: int, calls: int, dummies: list | None) -> list[float]:
        args = self.slots.args[first : first + calls]
        if self.slots.private_inputs or self.slots.report_mutation:
            args = [copied(values) for values in args]
        if dummies is not None:
            for index in range(calls):
                self._take(dummies[index], first + index)
            self._synchronize()
            return []
        if not self.reused:
            results, inside = self._run_all(model, args)
            self.reused = calls > 1 and shares_memory(results)
        if self.reused:
            inside = self._run_taking_each(model, args, first)
        else:
            for index, value in enumerate(results):
                self._take(value, first + index)
        self._synchronize()
        if self.slots.report_mutation:
            self._look_for_mutation(args, first)
        return inside() if callable(inside) else inside

    def _look_for_mutation(self, args: list, first: int) -> None:
        for index, values in enumerate(args):
            originals = tree.flatten(self.slots.args[first + index])[1]
            for number, (copy, original) in enumerate(zip(tree.flatten(values)[1], originals)):
                if not bool(((copy == original) | ((copy != copy) & (original != original))).all()):
                    raise Refused(
                        "input_mutated",
                        "input_mutated",
                        f"forward() writes input tensor {number}; the reference leaves its inputs unchanged",
                    )

    def _run_all(self, model, args: list):
        """All calls in a row, one clock mark between two calls; results are kept, then taken."""
        results = []
        if self.device == "cpu":
            marks = [time.perf_counter_ns()]
            for values in args:
                results.append(self._call(model, values))
                marks.append(time.perf_counter_ns())
            return results, [(b - a) / 1e3 for a, b in zip(marks, marks[1:])]
        events = [torch.cuda.Event(enable_timing=True) for _ in range(len(args) + 1)]
        events[0].record()
        for values, event in zip(args, events[1:]):
            results.append(self._call(model, values))
            event.record()
        return results, lambda: [a.elapsed_time(b) * 1e3 for a, b in zip(events, events[1:])]

    def _run_taking_each(self, model, args: list, first: int):
        """Each result is taken before the next call, outside the module's own clock marks."""
        marks = []
        for index, values in enumerate(args):
            if self.device == "cpu":
                begin = time.perf_counter_ns()
                value = self._call(model, values)
                marks.append((time.perf_counter_ns() - begin) / 1e3)
            else:
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                value = self._call(model, values)
                end.record()
                marks.append((begin, end))
            self._take(value, first + index)
        if self.device == "cpu":
            return marks
        return lambda: [begin.elapsed_time(end) * 1e3 for begin, end in marks]

    def _call(self, model, values):
        if self.slots.stochastic:
            torch.manual_seed(0)  # a reference that draws random numbers in forward draws the same ones
        return model(*values)

    def _take(self, value, slot: int) -> None:
        for place, tensor in zip(self.slots.results[slot], check_output(value, self.slots)):
            place.copy_(tensor)

    def _synchronize(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()


def shares_memory(results: list) -> bool:
    """Whether two results of different calls live in the same memory."""
    seen: set[int] = set()
    for value in results:
        mine = set()
        try:
            tensors = tree.flatten(value)[1]
        except tree.Unsupported:
            return False
        for tensor in tensors:
            if type(tensor) is torch.Tensor and tensor.numel() > 0:
                mine.add(tensor.data_ptr())
        if mine & seen:
            return True
        seen |= mine
    return False


def copied(values):
    """Inputs in private memory, for tasks whose reference writes its inputs."""
    if isinstance(values, torch.Tensor):
        return values.clone(memory_format=torch.preserve_format)
    if isinstance(values, (list, tuple)):
        return type(values)(copied(item) for item in values)
    if isinstance(values, dict):
        return {key: copied(item) for key, item in values.items()}
    return values
