"""What a task's reference must move and compute at the least: the input of the roofline model.

``trace(model, inputs)`` runs the reference once and follows every operator below autograd. From the
outputs it goes back through the record and asks what each input and parameter is needed for:

* an input counts once, in 32-byte sectors, and only where it is needed: slices, gathers (the rows
  that the indices name), strided windows and masks shrink it; what is never used is free;
* intermediates are free: a kernel can keep them on the chip;
* an output counts once, and not at all where it is a view of an input that was not written;
* arithmetic on values that nobody asks for, or that are known zeros (triangles, masked attention),
  is free; so is all arithmetic that can be rearranged away (elementwise operators).

Every figure is at most what a correct program needs. ``trace_task`` does the same for a task's source
without its memory and time: on fake tensors, with the values of small integer tensors really
computed. The result is JSON, ``assay.work/1``; see ``Trace.report``.
"""

import argparse
import contextlib
import json
import math
import os
import sys
import tempfile
from dataclasses import dataclass, field

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils.weak import WeakTensorKeyDictionary

from . import modules, tree
from .trace_needs import FULL, Need, needs_of_inputs, pattern_of, sectors, triangle
from .trace_ops import bind, flops_of, is_matrix, is_reduction, name_of

SCHEMA = "assay.work/1"
KNOWN_INTEGERS = 1 << 25  # elements whose values are followed
KNOWN_FLOATS = 1 << 22


@dataclass(eq=False)
class Value:
    """One version of a tensor's content."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    distinct: int  # elements that exist: an expanded dimension holds one
    op: "Op | None" = None  # that made it; None: a leaf
    name: str = ""  # of a leaf
    known: torch.Tensor | None = None  # its content, where that may be used
    constant: bool = False  # follows from no leaf
    pattern: torch.Tensor | None = None  # False where it is certainly zero; broadcasts to the shape
    closed: torch.Tensor | None = None  # True where it is certainly -inf; broadcasts to the shape
    version: int = 0
    depth: int = 0

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.distinct * self.dtype.itemsize


@dataclass(eq=False)
class Op:
    """One executed operator; ``args`` holds Values in the place of tensors, by parameter name."""

    name: str
    kind: str  # view, reload, overlay, compute, make
    inputs: list[Value]
    outputs: list[Value]
    args: dict = field(default_factory=dict)
    pointwise: bool = False  # each element of the output rests on the same element of each input
    replay: object = None  # of a view: the same view of another tensor of the input's shape
    needs: list[Need] = field(default_factory=list)  # of its inputs
    share: float = 0.0  # of its outputs that is needed
    by_data: bool = False  # which part of its inputs is needed follows from data

    @property
    def live(self) -> bool:
        return self.share > 0


@dataclass
class Storage:
    root: Value
    version: int = 0


class Recorder(TorchDispatchMode):
    """Records what runs under it. With ``fake`` the tensors hold no data, and the values of small
    ones are computed beside them."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: wrapping the method would import the compiler, a second, in a process without it."""
        return False

    def __init__(self, fake: FakeTensorMode | None = None):
        super().__init__()
        self.fake = fake
        self.values = WeakTensorKeyDictionary()
        self.storages: dict[int, Storage] = {}
        self.ops: list[Op] = []

    def leaf(self, tensor: torch.Tensor, name: str) -> Value:
        """Makes a tensor a graph input; what is known of its content stays known."""
        old = self.values.get(tensor)
        value = _value_of(tensor)
        value.name = name
        value.known = old.known if old else self._real(tensor)
        value.pattern = old.pattern if old and old.pattern is not None else _triangular(tensor)
        self.values[tensor] = value
        key = tensor.untyped_storage()._cdata
        root = _value_of(tensor)
        root.name = name
        self.storages[key] = Storage(value if value.numel * tensor.element_size() ==
                                     tensor.untyped_storage().nbytes() else root)
        return value

    def _real(self, tensor: torch.Tensor) -> torch.Tensor | None:
        followed = not (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel() <= KNOWN_INTEGERS
        return tensor if followed and not isinstance(tensor, FakeTensor) else None

    def value(self, tensor: torch.Tensor) -> Value:
        value = self.values.get(tensor)
        if value is None:
            value = self.leaf(tensor, f"constant{sum(1 for _ in self.storages)}")
            value.constant = True
        storage = self.storages[tensor.untyped_storage()._cdata]
        if value.version != storage.version:
            fresh = _value_of(tensor)
            fresh.version = storage.version
            self._add(Op("reload", "reload", [storage.root], [fresh]))
            self.values[tensor] = fresh
            return fresh
        return value

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        before = {id(t): self.value(t) for t in tensors}
        out = self._execute(func, args, kwargs, before)
        self._record(func, args, kwargs, before, tensors, out)
        return out

    def _execute(self, func, args, kwargs, before):
        if self.fake is None:
            return func(*args, **kwargs)
        try:
            return func(*args, **kwargs)
        except Exception:
            # The shape or a number depends on values: they may be known.
            real = self._on_known(func, args, kwargs, before)
            if real is None:
                raise
            with _disable_current_modes():
                return pytree.tree_map_only(torch.Tensor, self.fake.from_tensor, real[0])

    @staticmethod
    def _on_known(func, args, kwargs, before):
        """The operator's result on the known values as a 1-tuple; None where one is unknown."""
        if any(value.known is None for value in before.values()):
            return None
        with _disable_current_modes():
            real_args, real_kwargs = pytree.tree_map_only(
                torch.Tensor, lambda t: before[id(t)].known.clone(), (args, kwargs))
            try:
                return (func(*real_args, **real_kwargs),)
            except Exception:
                return None

    def _know(self, func, args, kwargs, before, outputs: list) -> list:
        """The values of the outputs, where they may be used: of integers always, of floats only if
        they follow from no input."""
        def small(t):
            limit = KNOWN_FLOATS if t.is_floating_point() or t.is_complex() else KNOWN_INTEGERS
            return t.numel() <= limit
        unknown = [None] * len(outputs)
        constant = all(value.constant for value in before.values())
        if not outputs or not all(small(t) for t in outputs):
            return unknown
        if self.fake is None:
            return [t.detach().clone() if constant or not (t.is_floating_point() or t.is_complex()) else None
                    for t in outputs]
        real = self._on_known(func, args, kwargs, before)
        if real is None:
            return unknown
        known = [t for t in pytree.tree_leaves(real[0]) if isinstance(t, torch.Tensor)]
        return known if len(known) == len(outputs) else unknown

    def _record(self, func, args, kwargs, before, tensors, out) -> None:
        outputs = [t for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
        if not outputs:
            return
        name = name_of(func)
        written = [t for t in _written(func, args, kwargs)]
        inputs = [before[id(t)] for t in tensors]
        named = pytree.tree_map_only(torch.Tensor, lambda t: before[id(t)], bind(func, args, kwargs))
        aliases = any(r.alias_info is not None for r in func._schema.returns) or name == "_unsafe_view"
        view = not written and aliases
        known = self._know(func, args, kwargs, before, outputs)
        kind = "view" if view else "compute" if inputs else "make"
        op = Op(name, kind, inputs, [], named, torch.Tag.pointwise in func.tags)
        if view:
            rest, rest_kwargs = args[1:], kwargs
            op.replay = lambda t: func(t, *rest, **rest_kwargs)
        for tensor, content in zip(outputs, known):
            value = _value_of(tensor)
            value.known = content
            value.constant = all(v.constant for v in inputs)
            op.outputs.append(value)
        self._add(op)
        for tensor, value in zip(outputs, op.outputs):
            key = tensor.untyped_storage()._cdata
            if view and key in self.storages:
                value.version = self.storages[key].version
            elif any(tensor is t for t in written):
                self._overwrite(tensor, value)
            else:
                self.storages[key] = Storage(value)
            self.values[tensor] = value

    def _overwrite(self, tensor: torch.Tensor, value: Value) -> None:
        """A tensor was written in place; all others on its storage have changed too."""
        storage = self.storages[tensor.untyped_storage()._cdata]
        storage.version += 1
        value.version = storage.version
        if value.distinct >= storage.root.distinct:
            storage.root = value
            return
        root = Value(storage.root.shape, storage.root.dtype, storage.root.distinct, version=storage.version)
        self._add(Op("overlay", "overlay", [storage.root, value], [root]))
        storage.root = root

    def _add(self, op: Op) -> None:
        step = 1 if is_matrix(op) or is_reduction(op) else 0
        for value in op.outputs:
            value.op = op
            value.depth = max((v.depth for v in op.inputs), default=0) + step
            pattern_of(op, value)
        self.ops.append(op)


def _value_of(tensor: torch.Tensor) -> Value:
    distinct = math.prod(size for size, stride in zip(tensor.shape, tensor.stride()) if stride != 0)
    return Value(tuple(tensor.shape), tensor.dtype, distinct if tensor.numel() else 0)


def _written(func, args, kwargs):
    """The tensors that an operator writes in place."""
    for i, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[i] if i < len(args) else kwargs.get(argument.name)
            yield from (t for t in pytree.tree_leaves(given) if isinstance(t, torch.Tensor))


def _triangular(tensor: torch.Tensor) -> torch.Tensor | None:
    """The pattern of a triangular matrix: zeros that are a rule of the task, not of the data."""
    if isinstance(tensor, FakeTensor) or tensor.ndim != 2 or min(tensor.shape) < 16:
        return None
    if not tensor.is_floating_point():
        return None
    with _disable_current_modes():
        for upper in (True, False):
            half = triangle(tuple(tensor.shape), upper, 0, tensor.device)
            if not tensor[~half].any():
                return half
    return None


@dataclass
class Trace:
    """The finished record of one run."""

    recorder: Recorder
    leaves: list[tuple[Value, int, int]]  # value, its storage, that storage's bytes
    outputs: list[tuple[torch.Tensor, Value]]

    def solve(self) -> None:
        """Goes back from the outputs and gives every operator its share."""
        needs: dict[int, Need] = {}
        for _, value in self.outputs:
            if not self.is_input(value):
                needs[id(value)] = FULL
        for op in reversed(self.recorder.ops):
            wanted = [needs.pop(id(value), None) for value in op.outputs]
            sizes = [value.numel for value in op.outputs]
            total = sum(n for n, w in zip(sizes, wanted) if w) or 1
            op.share = sum(w.share * n for n, w in zip(sizes, wanted) if w) / total
            if not op.live:
                continue
            op.needs = needs_of_inputs(op, wanted)
            for value, need in zip(op.inputs, op.needs):
                if need.share > 0:
                    old = needs.get(id(value))
                    needs[id(value)] = need if old is None else old.union(need)
        self.needs = needs

    @staticmethod
    def is_input(value: Value) -> bool:
        """Whether it is an input, or a view of one, that nobody wrote: returning it moves nothing."""
        while value.op is not None and value.op.kind == "view" and value.op.name != "_unsafe_view":
            value = value.op.inputs[0]
        return value.op is None

    def report(self) -> dict:
        with _disable_current_modes():
            return self._report()

    def _report(self) -> dict:
        self.solve()
        reads, by_storage = [], {}
        for value, storage, size in self.leaves:
            need = self.needs.get(id(value))
            full = need is FULL or (need is not None and need.mask is None and need.share == 1)
            count = 0 if need is None else value.bytes if full else sectors(value, need)
            seen = by_storage.setdefault(storage, [0, size])
            counted = min(count, seen[1] - seen[0])
            seen[0] += counted
            reads.append({"name": value.name, "shape": list(value.shape), "dtype": _dtype(value.dtype),
                          "bytes": value.bytes, "read_bytes": counted})
        writes, places = [], set()
        for index, (tensor, value) in enumerate(self.outputs):
            place = (tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
            count = 0 if self.is_input(value) or place in places else value.bytes
            places.add(place)
            writes.append({"name": f"output[{index}]", "shape": list(value.shape), "dtype": _dtype(value.dtype),
                           "bytes": value.bytes, "write_bytes": count})
        read = sum(row["read_bytes"] for row in reads)
        write = sum(row["write_bytes"] for row in writes)
        work: dict[tuple, dict] = {}
        for op in self.recorder.ops:
            for kind, dtype, nominal, structural, algorithmic in flops_of(op):
                row = work.setdefault((op.name, kind, dtype), {
                    "op": op.name, "class": kind, "dtype": _dtype(dtype), "count": 0,
                    "flops_nominal": 0.0, "flops": 0.0, "flops_bound": 0.0})
                row["count"] += 1
                row["flops_nominal"] += nominal
                row["flops"] += structural
                row["flops_bound"] += algorithmic
        live = [op for op in self.recorder.ops if op.live and op.kind == "compute"]
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        return {
            "schema": SCHEMA,
            "inputs": reads,
            "outputs": writes,
            "read_bytes": read,
            "write_bytes": write,
            "ops": [row for row in work.values() if row["flops_nominal"] > 0],
            "eager_bytes": max(sum(_eager_bytes(op) for op in self.recorder.ops), read + write),
            "eager_kernels": sum(1 for op in self.recorder.ops if op.kind in ("compute", "make")
                                 and not op.name.startswith("empty")),
            "second_reads": _second_reads(live),
            "depth": max((v.depth for _, v in self.outputs), default=0),
            "data_dependent": any(op.by_data for op in live),
            "tf32_matmul": bool(matmul.allow_tf32),
            "tf32_convolution": bool(cudnn.allow_tf32),
            "torch": torch.__version__,
        }


# Operators that read their input twice where a row of it does not fit on the chip; and its dimensions.
ROWS = {"_softmax": "dim", "_log_softmax": "dim", "logsumexp": "dim", "native_layer_norm": "normalized_shape",
        "native_group_norm": "group", "native_batch_norm": "channel", "_native_batch_norm_legit": "channel",
        "cudnn_batch_norm": "channel", "var_mean": "dim", "_fused_rms_norm": "normalized_shape"}


def _second_reads(live: list[Op]) -> list[dict]:
    found = []
    for op in live:
        how = ROWS.get(op.name)
        if how is None:
            continue
        x = op.inputs[0]
        if how == "channel":
            row = x.numel // max(x.shape[1] if len(x.shape) > 1 else 1, 1)
        elif how == "group":
            row = x.numel // max(x.shape[0] * op.args.get("group", 1), 1)
        elif how == "normalized_shape":
            row = math.prod(op.args.get("normalized_shape") or (1,))
        else:
            dims = op.args.get("dim")
            dims = range(len(x.shape)) if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
            row = math.prod(x.shape[d] for d in dims) if x.shape else 1
        found.append({"op": op.name, "row_bytes": row * x.dtype.itemsize, "bytes": x.bytes})
    return found


NOT_READ = ("copy_", "fill_", "zero_", "uniform_", "normal_", "random_", "bernoulli_")
GATHERS = ("embedding", "index", "index_select", "gather")


def _eager_bytes(op: Op) -> int:
    """What this operator alone moves when it runs as a kernel of its own."""
    if op.kind not in ("compute", "make") or op.name.startswith("empty"):
        return 0
    inputs = op.inputs[1:] if op.name in NOT_READ else op.inputs
    read = sum(v.bytes for v in {id(v): v for v in inputs}.values())
    if op.name in GATHERS and op.outputs:
        read = min(inputs[0].bytes, op.outputs[0].bytes) + sum(v.bytes for v in inputs[1:])
    return read + sum(v.bytes for v in op.outputs)


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def trace(model, inputs: list, recorder: Recorder | None = None) -> dict:
    """Runs ``model(*inputs)`` once, without gradients, and says what it must move and compute.

    The tensors may be real, on any device, or fake ones of the recorder's mode. A model that writes
    its inputs writes these: pass copies where they are still needed."""
    recorder = recorder or Recorder()
    leaves = []

    def add(tensor, name):
        storage = tensor.untyped_storage()
        leaves.append((recorder.leaf(tensor, name), storage._cdata, storage.nbytes()))

    seen = set()
    state = []
    if isinstance(model, torch.nn.Module):
        state = [*model.named_parameters(), *model.named_buffers()]
    given = [(f"input[{i}]", t) for i, t in enumerate(tree.flatten(inputs)[1])]
    for name, tensor in given + state:
        if id(tensor) not in seen:
            seen.add(id(tensor))
            add(tensor, name)
    with torch.no_grad(), recorder:
        outputs = tree.flatten(model(*inputs))[1]
    return Trace(recorder, leaves, [(t, recorder.value(t)) for t in outputs]).report()


def least(reports: list[dict]) -> dict:
    """One report of several draws of inputs, with the least of each total: for tasks whose traffic
    depends on data."""
    chosen = dict(min(reports, key=lambda report: sum(row["flops_bound"] for row in report["ops"])))
    for key in ("read_bytes", "write_bytes", "eager_bytes"):
        chosen[key] = min(report[key] for report in reports)
    return chosen


def trace_task(source: str, entry: str = "Model", size: str = "gpu", real: bool = False) -> dict:
    """As ``trace`` for a task's source at a size, on the CPU; on fake tensors unless ``real``."""
    with tempfile.TemporaryDirectory(prefix="assay-trace-") as folder:
        path = f"{folder}/task.py"
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        module = modules.load_task(path, "assay_traced_task", size)
        sys.modules.pop("assay_traced_task", None)
        fake = None if real else FakeTensorMode()
        recorder = Recorder(fake)
        modules.seed_everything(1)
        # The inputs are drawn under the recorder: it then knows index tensors and triangles.
        with torch.no_grad(), fake or contextlib.nullcontext():
            model = modules.construct(getattr(module, entry), list(module.get_init_inputs()))
            with recorder if fake else contextlib.nullcontext():
                inputs = list(module.get_inputs())
            recorder.ops.clear()
            return trace(model, inputs, recorder)


def trace_line(task: dict, size: str) -> dict:
    """Traces one ``{"source", "entry"}``: on fake tensors, or, where a shape or a branch depends on
    values, by really running it. A task that cannot be traced gives ``{"error"}``."""
    reasons = []
    for real in (False, True):
        try:
            return trace_task(task["source"], task.get("entry", "Model"), size, real)
        except Exception as error:  # the task's own code may raise anything
            reasons.append(f"{type(error).__name__}: {error}"[:500])
    return {"error": f"{reasons[1]} (on fake tensors: {reasons[0]})"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="assay.runtime.trace_work")
    parser.add_argument("tasks", help='a file of JSON lines {"source", "entry"}; - is standard input')
    parser.add_argument("--size", default="gpu", choices=["cpu", "gpu"])
    options = parser.parse_args()
    with sys.stdin if options.tasks == "-" else open(options.tasks, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    answers = os.dup(1)
    os.dup2(2, 1)  # what a task prints is no answer
    with os.fdopen(answers, "w") as out:
        for task in lines:
            print(json.dumps(trace_line(task, options.size)), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
