"""The loop of rounds: wait for *go*, call the module on K inputs, hand over K results, say *done*.

Candidate and reference run this very code, so whatever it costs is on both sides of the ratio.
Checked, warm-up and timed rounds look alike to the module.
"""

import contextlib

import torch

from . import native, tree
from .results import DeviceResults, HostResults

GO_TIMEOUT_S = 600.0  # the worker's own deadlines are far shorter; this only ends an orphan
KEPT_BYTES = 1 << 30  # results larger than this are not kept to look for reuse


class Slots:
    """The arena as the module sees it: inputs of each slot, and where its results go."""

    def __init__(self, device: str, inputs: torch.Tensor, outputs: torch.Tensor, plan: dict, shapes: dict | None = None):
        """``plan``: structure and places of one slot, the slot sizes in bytes and their number.
        ``shapes``: other places, of smaller inputs and their outputs."""
        places = shapes or plan
        # Where the reference writes its inputs, each process has its own, in memory that it may write.
        self.writes_inputs = plan["writes_inputs"]
        self.holder = outputs if self.writes_inputs else inputs
        self.device, self.plan, self.input_places = device, plan, places["input_places"]
        self.tensors = [[self._view(slot, place) for place in self.input_places] for slot in range(plan["slots"])]
        self.args = [tree.unflatten(plan["input_tree"], tensors, device) for tensors in self.tensors]
        self.results = []
        for slot in range(plan["slots"]):
            base = slot * plan["output_bytes"]
            self.results.append([tree.view(outputs, place, base) for place in places["output_places"]])
        self.output_tree = plan["output_tree"]
        self.report_mutation = False

    def _view(self, slot: int, place: dict) -> torch.Tensor:
        return tree.view(self.holder, place, self.plan["inputs_at"] + slot * self.plan["input_bytes"])

    def arguments(self, first: int, calls: int) -> list[list]:
        """Of a round's calls. Whoever may write its inputs may have put other things into the former lists and
        dicts, or given a tensor another shape; new ones, but for tensors that are as they were, which costs
        a round the least."""
        if self.writes_inputs:
            for slot in range(first, first + calls):
                tensors = self.tensors[slot]
                for index, (tensor, place) in enumerate(zip(tensors, self.input_places)):
                    if list(tensor.shape) != place["shape"] or list(tensor.stride()) != place["stride"]:
                        tensors[index] = self._view(slot, place)
                self.args[slot] = tree.unflatten(self.plan["input_tree"], tensors, self.device)
        return self.args[first : first + calls]


class Refused(Exception):
    """Something that the contract of a submission rules out; ``kind`` as in the worker's table."""

    def __init__(self, kind: str, name: str, message: str):
        super().__init__(message.encode("utf-8", "replace").decode())
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

    def __init__(
        self,
        device: str,
        control,
        slots: Slots,
        first_round: int,
        reused: bool,
        memory: HostResults | DeviceResults | None,
        events: list | None = None,
    ):
        """``reused``: earlier rounds have shown that the module returns one buffer again and again.
        ``memory``: where the results of timed rounds stand; None: they are copied into the slots.
        ``events``: those that earlier rounds of the process no longer need; they come back there."""
        self.device = device
        self.control = control
        self.slots = slots
        self.round = first_round
        self.memory = memory
        self.reused = reused  # then each result is taken at once
        self.looked = False  # at the results of a round of several calls
        self.kept: list = []
        self.kept_slot = -1
        self.reused_once = False
        self.error: BaseException | None = None
        self.events = events if events is not None else []
        self.clocks: list = []  # of each round: what reads this process's own clock, once all is over

    def serve(self, model) -> None:
        """Runs rounds until told to stop; an exception in the module ends the loop, in ``error``."""
        results: list = []
        with torch.no_grad():
            while True:
                if not self.control.wait_go(self.round, GO_TIMEOUT_S):
                    break
                calls, first = self.control.calls(), self.control.first_slot()
                marks = Marks(self.device, calls, self.events)
                try:
                    if self.device != "cpu":
                        self.control.wait_gate(self.round, torch.cuda.current_stream().cuda_stream)
                    results = self._one(model, first, calls, marks, results)
                    failed = False
                except BaseException as error:  # SystemExit and KeyboardInterrupt are the module's too
                    self.error, failed = error, True
                self.control.done(self.round, failed)
                self.round += 1
                if failed:
                    return
                self.clocks.append(marks)
                # The process goes on from here at the next *go*: what stands here lengthens that
                # round. So only the first round explains what the judge would see as wrong bytes.
                if not self.looked:
                    self.looked = calls > 1
                    try:
                        for value in results:
                            check_output(value, self.slots)
                    except Refused as error:
                        self.error = error
            self.round += 1

    def report(self) -> dict:
        """This process's own clock, in microseconds: for each call of each round, and for taking the
        results of each round."""
        clocks = [marks.read() for marks in self.clocks]
        for marks in self.clocks:
            self.events.extend(marks.events)
        return {"inside_us": [calls for calls, _ in clocks], "taking_us": [taking for _, taking in clocks]}

    def _one(self, model, first: int, calls: int, marks, former: list) -> list:
        """K calls, all results taken, the device idle. Returns the results. The ``former`` ones, which
        the judge has read by now, are given up one by one, as callers of a module do."""
        args = self.slots.arguments(first, calls)
        if self.slots.report_mutation:
            args = [copied(values) for values in args]
        # Nothing can be run again on inputs that it has written.
        once = self.slots.writes_inputs and calls > 1
        if self.reused or (once and not self.memory):
            results = self._run_taking_each(model, args, first, marks, former)
        else:
            results = []
            with self.memory.using() if self.memory else contextlib.nullcontext():
                marks.mark()
                for values in args:
                    if former:
                        former.pop()
                    results.append(model(*values))
                    marks.mark()
                former.clear()
            self._hand_over(results, first)
            marks.mark()
            if calls > 1 and shares_memory(results):
                self.reused = True
                if once:
                    self.control.places([native.LOST] * (calls * len(self.slots.results[0])), [])
                else:
                    results = self._run_taking_each(model, args, first, marks, former)
            elif calls == 1:
                self._look_for_reuse(results, first)
        self._synchronize()
        if self.slots.report_mutation:
            self._look_for_mutation(args, first)
        return results

    def _look_for_reuse(self, results: list, slot: int) -> None:
        """With one call a round nothing is overwritten before it is taken; it is only noted."""
        if self.slots.writes_inputs and slot == self.kept_slot:
            return  # whoever returns its input returns the same memory
        if sum(place.nbytes for place in self.slots.results[0]) > KEPT_BYTES:
            return
        self.reused_once = self.reused_once or shares_memory([self.kept, results])
        self.reused = self.reused_once and self.slots.writes_inputs  # before results are lost by it
        self.kept_slot = slot
        self.kept = results  # alive until the next result, so that only reuse gives the same memory

    def _hand_over(self, results: list, first: int) -> None:
        """Says where the results stand; copies those into their slots that cannot be read there."""
        like = self.slots.results[0]
        strides = [() for _ in like[: native.MAX_STRIDED]]  # one for all calls
        places, far, slots = [], [], []
        for slot, value in zip(self.slots.results[first:], results):
            plain = type(value) is torch.Tensor and len(like) == 1
            fits = plain and value.shape == like[0].shape and value.dtype == like[0].dtype and value.device == like[0].device
            tensors = [value] if fits else check_output(value, self.slots)
            for index, (target, tensor) in enumerate(zip(slot, tensors)):
                place = self.memory.place(tensor) if self.memory and index < len(strides) else native.IN_SLOT
                if place != native.IN_SLOT:
                    strides[index] = strides[index] or tensor.stride()
                    if strides[index] != tensor.stride():
                        place = native.IN_SLOT
                places.append(place)
                if place == native.IN_SLOT:
                    far.append(tensor)
                    slots.append(target)
        self._copy(slots, far)
        if self.memory:
            self.control.places(places, strides)

    def _run_taking_each(self, model, args: list, first: int, marks, former: list) -> list:
        """Each result is taken before the next call, outside the marks of the call."""
        marks.pairs()
        value = None
        former.clear()
        for index, values in enumerate(args):
            marks.mark()
            value = model(*values)
            marks.mark()
            self._copy(self.slots.results[first + index], check_output(value, self.slots))
        marks.mark()
        if self.memory:
            self.control.places([native.IN_SLOT] * (len(args) * len(self.slots.results[0])), [])
        return [value]

    def _copy(self, places: list[torch.Tensor], tensors: list[torch.Tensor]) -> None:
        # Untimed, one by one is cheaper than what the fused copy costs a process once: 18 ms on an H200.
        if self.device == "cpu" or len(places) == 1 or not self.memory:
            for place, tensor in zip(places, tensors):
                place.copy_(tensor)
        elif places:
            torch._foreach_copy_(places, tensors)

    def _synchronize(self) -> None:
        if self.device != "cpu":
            self.control.queued(self.round)
            torch.cuda.synchronize()

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


class Marks:
    """Clock readings of one round: events of the device, none on the CPU. They are read after all
    rounds have ended; a round pays only for recording.

    Between calls, and after the results were taken: c0 c1 ... cK t. In pairs, where each result is
    taken before the next call: a0 b0 a1 b1 ... aK bK t.
    """

    def __init__(self, device: str, calls: int, spare: list):
        """``spare``: events to take before new ones are made."""
        self.device = device
        self.calls = calls
        self.spare = spare
        self.stream = None  # that marks were last recorded on
        self._start(paired=False)

    def pairs(self) -> None:
        """Starts anew; from now on marks come in pairs around each call instead of between calls."""
        self._start(paired=True)

    def _start(self, paired: bool) -> None:
        self.paired = paired
        self.count = 0
        count = 0 if self.device == "cpu" else 2 * self.calls + 1 if paired else self.calls + 2
        self.events = [self.spare.pop() if self.spare else new_event() for _ in range(count)]

    def mark(self) -> None:
        if self.device != "cpu":
            self.events[self.count].record(self._stream())
            self.count += 1

    def _stream(self):
        """torch.cuda.current_stream(), which costs 5 us, made only where the stream is another one."""
        number = torch._C._cuda_getCurrentStream(0)[0]
        if self.stream is None or self.stream.stream_id != number:
            self.stream = torch.cuda.current_stream()
        return self.stream

    def read(self) -> tuple[list[float], float]:
        """(microseconds of each call, microseconds of handing over the results). Nothing on the CPU, where
        the worker's own clock is as good."""
        if self.device == "cpu":
            return [], 0.0
        spans = [self._between(i, i + 1) for i in range(self.count - 1)]
        return (spans[0::2], sum(spans[1::2])) if self.paired else (spans[:-1], spans[-1])

    def _between(self, i: int, j: int) -> float:
        return self.events[i].elapsed_time(self.events[j]) * 1e3


def new_event():
    """An event that exists on the device: torch makes it when it is first recorded."""
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def shares_memory(results: list) -> bool:
    """Whether two results of different calls live in the same memory."""
    if all(type(value) is torch.Tensor and value.numel() > 0 for value in results):
        return len({value.data_ptr() for value in results}) < len(results)
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
    """The same inputs in memory of their own."""
    if isinstance(values, torch.Tensor):
        return values.clone(memory_format=torch.preserve_format)
    if isinstance(values, (list, tuple)):
        return type(values)(copied(item) for item in values)
    if isinstance(values, dict):
        return {key: copied(item) for key, item in values.items()}
    return values
