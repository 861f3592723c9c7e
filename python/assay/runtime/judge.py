"""The judge's process: trusted, long-lived, one per device.

It holds what a candidate must never see: the task's module, hidden seeds, inputs before they are
handed out, expected outputs. It makes inputs, runs the reference and compares. It decides nothing:
the worker turns its measurements into a verdict.
"""

import collections
import contextlib
import copy
import gc
import math
import os
import re
import sys
import time

import torch

from . import backward, calibrate, compare, families, health, indices, modules, native, trace_precision, trace_work, tree
from .arena import Arena
from .channel import Channel, Closed
from .late_words import LateWords
from .rounds import copied
from .watch import Watch

try:
    from . import fast_random
except ImportError:  # no Triton here: torch draws, more slowly
    fast_random = None

EXACT_BUDGET_S = 0.25  # a float64 reference slower than this runs in one trial only
MAX_TASKS = 64  # modules kept loaded
INITIAL_FLAGS = modules.Flags()  # as torch has them, before any task was imported
LARGEST_EXACT = 4 << 30  # bytes of inputs and outputs that are computed in float64 to admit a family
SLOWEST_FAMILY_US = 200e3  # a slower reference is asked its own inputs only
ROW_S = 8e-3  # of calls that are timed in a row to learn how long the reference takes
RESULTS_ALIGNMENT = 2 << 20  # of the region that torch's allocator takes results from
PLACE_ALIGNMENT = 16  # bytes; torch aligns to 512, a view may begin anywhere in its tensor
POISON = 0xFF  # every byte of the outputs before a round: NaN in each float type, -1 in integers


class OutsideError(ValueError):
    """A candidate says that a result stands where it cannot stand."""


class Task:
    """A loaded task: module, structure of inputs and outputs, and the current weights."""

    def __init__(self, source: str, entry: str, size: str, device: str, folder: str):
        self.device = device
        path = os.path.join(folder, f"task_{id(self):x}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        INITIAL_FLAGS.apply()
        name = f"assay_task_{id(self):x}"
        self.module = modules.load_task(path, name, size)
        sys.modules.pop(name, None)  # the task alone keeps its module alive
        self.flags = modules.Flags()
        self.entry = getattr(self.module, entry)
        self.backward = backward.asked_for(self.module)
        self.gradients: list[torch.Tensor] = []  # of the outputs, as a call with gradients takes them
        self.model = None
        self.model64 = None
        self.exact = True  # float64 can be had
        self.exact_slow = False
        self.exact_runs = 0
        self.why_not_exact = ""
        self.eager_errors: dict[str, list[compare.EagerError]] = {}  # by family of inputs
        self.kinds: list[str] = []  # of the inputs, see families
        self.families = [families.NATIVE]
        self.examine(source)

    def examine(self, source: str) -> None:
        """Runs the reference on a throw-away seed and notes what it takes and gives."""
        self.build(seed=1)
        if self.backward:
            self.gradients = backward.gradients_like(self.run(self.model.model, self.draw_native(2)[:-1]))
        inputs = self.draw(seed=2)
        self.input_tree, tensors = tree.flatten(inputs)
        self.input_places, self.input_bytes = tree.layout(tensors, 0, keep_strides=True)
        before = [t.clone(memory_format=torch.preserve_format) for t in tensors]
        self.kinds = families.kinds_of(tensors)
        first = self.run(self.model, inputs, torch_seed=11)
        self.private_inputs = any(not _same_bits(a, b) for a, b in zip(before, tensors))

        def fresh() -> list:
            copies = [t.clone(memory_format=torch.preserve_format) for t in before]
            return tree.unflatten(self.input_tree, copies, self.device)

        second = self.run(self.model, fresh(), torch_seed=12)
        self.reference_us = self.time_calls(fresh())
        self.output_tree, outputs = tree.flatten(first)
        self.output_places, self.output_bytes = tree.layout(outputs, 0, keep_strides=False)
        self.output_dtypes = [t.dtype for t in outputs]
        self.indexed = indices.find(tree.flatten(fresh())[1], outputs)
        again = tree.flatten(second)[1]
        self.stochastic = not all(
            compare.compare(b, a, None, compare.EagerError())["passed"] for a, b in zip(outputs, again)
        )
        self.floating = any(t.is_floating_point() or t.is_complex() for t in outputs)
        state = self.state()[1]
        self.state_bytes = sum(t.numel() * t.element_size() for t in state)
        self.state_like = [torch.empty_like(t, device="meta") for t in state]
        self.state_names = self.state()[0]
        self.gradient_names = self.model.names if self.backward else None  # of parameters
        self.recipe = None if self.backward else self.plain_draws(source)
        self.eager_errors = {name: [compare.EagerError() for _ in outputs] for name in (families.NATIVE, *families.OTHERS)}
        self.families += [name for name in families.OTHERS if self.admits(name, outputs)]
        # What the trials find out for themselves: memory that was short may be there then.
        self.model64, self.exact_runs, self.exact = None, 0, True
        self.work = self.trace(fresh())
        self.model = None  # the module stays loaded, gigabytes of weights do not

    def admits(self, family: str, native_outputs: list[torch.Tensor]) -> bool:
        """Whether trials may ask for inputs of another family. Where float64 is slow, this is the only
        run of it with that family: what it tells of eager's error holds for all trials."""
        slow = self.reference_us > SLOWEST_FAMILY_US
        large = self.input_bytes + self.output_bytes > LARGEST_EXACT
        if self.stochastic or slow or all(kind == "fixed" for kind in self.kinds):
            return False
        try:
            outputs, exact = self.expected(self.draw(2, family), not large, family)
        except Exception:  # a reference may refuse what it was not written for
            return False
        if not families.admits(native_outputs, outputs):
            return False
        if exact is None:
            return large or not self.floating
        pairs = [(e, exact[k], self.eager_errors[family][k]) for k, e in enumerate(outputs) if e.is_floating_point()]
        return all(compare.well_conditioned(*pair) for pair in pairs)

    def trace(self, inputs: list) -> dict:
        """What the task must move and compute, ``{"error"}`` where it cannot be traced; see trace_work.
        The cost is one run of the reference and about 0.1 ms for each of its operators."""
        try:
            modules.seed_everything(11)
            return trace_work.trace(self.model, inputs)
        except Exception as error:  # any operator may be new to the tracer; a verdict needs no roofline
            return {"error": f"{type(error).__name__}: {error}"[:500]}

    def try_precisions(self) -> None:
        """Adds to ``work`` in which precisions the matrix work passes the numeric rule."""
        known = "error" in self.work or "admitted" in self.work
        if known or self.private_inputs or not trace_precision.applies(self.work):
            return
        twin = self.for_lane()
        twin.flags.apply()
        twin.build(seed=3)
        draws = [twin.draw(seed=4), twin.draw(seed=5)]
        self.work["admitted"] = trace_precision.admitted(
            twin.model, draws, lambda inputs: twin.expected(inputs, True), twin.eager_errors[families.NATIVE]
        )

    def time_calls(self, inputs: list) -> float:
        """Microseconds of one call in a row of calls, as in a round; the best of a few rows."""
        best, calls = math.inf, 1
        with torch.no_grad():
            for _ in range(4):
                self.synchronize()
                begin = time.perf_counter()
                for _ in range(calls):
                    output = self.model(*inputs)
                self.synchronize()
                row = time.perf_counter() - begin
                del output
                best = min(best, row / calls * 1e6)
                if row > ROW_S:
                    break
                calls = min(32, max(1, int(ROW_S / 4 / (best * 1e-6))))
        return best

    def for_lane(self) -> "Task":
        """The same task with weights of its own; what is known of eager's error is shared."""
        return copy.copy(self)

    def build(self, seed: int) -> None:
        """Fresh weights; the float64 twin is made when it is first needed."""
        self.model = self.model64 = None
        modules.seed_everything(seed)
        self.init_inputs = list(self.module.get_init_inputs())
        self.model = modules.build(self.entry, self.init_inputs, seed, self.device)
        if self.backward:
            self.model = backward.WithGradients(self.model)

    def draw(self, seed: int, family: str = families.NATIVE) -> list:
        """Inputs from a hidden seed, drawn on the device; every dtype stays as the task made it."""
        inputs = self.draw_native(seed)
        if family == families.NATIVE:
            return inputs
        spec, tensors = tree.flatten(inputs)
        return tree.unflatten(spec, families.transform(self.kinds, tensors, family), self.device)

    def draw_native(self, seed: int) -> list:
        modules.seed_everything(seed)
        with torch.no_grad():
            try:
                with torch.device(self.device), self._random(seed):
                    inputs = list(self.module.get_inputs())
            except Exception:
                if self.device == "cpu":
                    raise
                modules.seed_everything(seed)
                inputs = list(self.module.get_inputs())
        if self.backward:
            inputs.append(backward.draw_gradients(self.gradients, self.device))
        return _moved(inputs, self.device)

    def _random(self, seed: int):
        if self.device == "cpu" or fast_random is None:
            return contextlib.nullcontext()
        return fast_random.FastRandom(self.device, seed)

    def plain_draws(self, source: str) -> list[bool] | None:
        """For each input tensor whether it is normal or uniform, where get_inputs() always returns
        just what torch.rand and torch.randn give; else None."""
        if self.device == "cpu" or fast_random is None or OTHER_RANDOM.search(source):
            return None
        recipes = []
        for seed in (3, 4):
            modules.seed_everything(seed)
            with torch.no_grad(), torch.device(self.device), self._random(seed) as drawn:
                try:
                    spec, tensors = tree.flatten(list(self.module.get_inputs()))
                except Exception:  # draw() falls back on the CPU
                    return None
            recipes.append(drawn.recipe(tensors) if spec == self.input_tree else None)
        return recipes[0] if recipes[0] == recipes[1] else None

    def run(self, model, inputs: list, torch_seed: int = 0):
        """The reference's output, device work finished."""
        with torch.no_grad():
            modules.seed_everything(torch_seed)
            output = model(*inputs)
        self.synchronize()
        return output

    def expected(self, inputs: list, want_exact: bool, family: str = families.NATIVE) -> tuple[list, list | None]:
        """(eager outputs, float64 outputs or None) as flat lists; the inputs stay untouched. Where
        float64 is slow it is computed until eager's error in that family is known."""
        eager = tree.flatten(self.run(self.model, copied(inputs) if self.private_inputs else inputs))[1]
        # A random reference draws other numbers in float64: its twin is another function.
        wanted = want_exact and self.exact and self.floating and not self.stochastic
        known = family != families.NATIVE and any(error.measured for error in self.eager_errors[family])
        if not wanted or (self.exact_slow and (known or (family == families.NATIVE and self.exact_runs > 0))):
            return eager, None
        try:
            begin = time.perf_counter()
            if self.model64 is None:
                self.model64 = copy.deepcopy(self.model).double()
            exact = tree.flatten(self.run(self.model64, _doubled(inputs)))[1]
            if [t.shape for t in exact] != [t.shape for t in eager]:
                raise RuntimeError("the float64 reference has other shapes")
            self.exact_slow = time.perf_counter() - begin > EXACT_BUDGET_S
            self.exact_runs += 1
            return eager, exact
        except Exception as error:  # not every reference runs in float64, nor fits
            self.exact, self.why_not_exact = False, f"{type(error).__name__}: {error}"[:300]
            self.model64 = None
            if self.device != "cpu":
                torch.cuda.empty_cache()
            return eager, None

    def state(self) -> tuple[list[str], list[torch.Tensor]]:
        if not isinstance(self.model, torch.nn.Module):
            return [], []
        items = [(k, v) for k, v in self.model.state_dict().items() if isinstance(v, torch.Tensor)]
        return [k for k, _ in items], [v for _, v in items]

    def synchronize(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()


class Lane:
    """One submission's share of the judge: a task and the arena."""

    def __init__(self, task: Task, slots: int, device: str):
        self.task = task
        self.slots = slots
        self.device = device
        names, state = task.state_names, task.state_like
        init_tree, init = tree.flatten(task.init_inputs)
        init = [t.to(device) for t in init]
        self.init_places, end = tree.layout(init, 0, keep_strides=True)
        self.state_places, end = tree.layout(state, end, keep_strides=False)
        self.state_names, self.init_tree, self.inputs_at = names, init_tree, end
        self.seeds: dict[int, tuple[int, str]] = {}  # seed and family of what stands in each slot
        self.views: dict[int, list[torch.Tensor]] = {}  # of the slots that were used
        self.arenas: list[Arena] = []
        try:
            self.inputs = self._arena(end + slots * task.input_bytes, sealed=True)
            self.late = LateWords(self.inputs.memory, task.input_places, self.inputs_at, task.input_bytes)
            self.results_at = -(-slots * task.output_bytes // RESULTS_ALIGNMENT) * RESULTS_ALIGNMENT
            self.results_bytes = results_bytes(device, slots * task.output_bytes)
            self.outputs = self._arena(self.results_at + self.results_bytes, sealed=False)
            # The reference's results are expected outputs: never in memory that a candidate can map.
            self.reference_outputs = self._arena(self.results_at + self.results_bytes, sealed=False)
        except BaseException:
            self.close()
            raise

    def _arena(self, size: int, sealed: bool) -> Arena:
        self.arenas.append(Arena.create(self.device, size, sealed))
        return self.arenas[-1]

    def plan(self) -> dict:
        task = self.task
        return {
            "slots": self.slots,
            "inputs_at": self.inputs_at,
            "input_bytes": task.input_bytes,
            "output_bytes": task.output_bytes,
            "input_tree": task.input_tree,
            "input_places": task.input_places,
            "output_tree": task.output_tree,
            "output_places": task.output_places,
            "results_at": self.results_at,
            "results_bytes": self.results_bytes,
            "private_inputs": task.private_inputs,
            "stochastic": task.stochastic,
            "gradients": task.gradient_names,
        }

    def weights(self, seed: int) -> None:
        self.task.flags.apply()
        self.task.build(seed)
        init = [t.to(self.device) for t in tree.flatten(self.task.init_inputs)[1]]
        for place, tensor in zip(self.init_places, init):
            tree.store(tree.view(self.inputs.memory, place), tensor)
        for place, tensor in zip(self.state_places, self.task.state()[1]):
            tree.store(tree.view(self.inputs.memory, place), tensor)
        self.task.synchronize()

    def targets(self, slot: int) -> list[torch.Tensor]:
        """The tensors of an input slot, in the arena."""
        if slot not in self.views:
            base = self.inputs_at + slot * self.task.input_bytes
            self.views[slot] = [tree.view(self.inputs.memory, place, base) for place in self.task.input_places]
        return self.views[slot]

    def fill(self, first: int, seeds: list[int], family: str = families.NATIVE) -> None:
        self.task.flags.apply()
        self.seeds.update((slot, (seed, family)) for slot, seed in enumerate(seeds, first))
        if self.task.recipe is not None and family == families.NATIVE:
            keys = fast_random.keys(seeds)
            for stream, (tensor, normal) in enumerate(zip(self.targets(first), self.task.recipe)):
                stride = self.task.input_bytes // tensor.element_size()
                fast_random.fill(tensor, stride, keys, stream, normal)
        else:
            for slot, seed in enumerate(seeds, first):
                self._draw(slot, seed, family)
        self.poison(first, len(seeds))

    def _draw(self, slot: int, seed: int, family: str) -> None:
        drawn_tree, drawn = tree.flatten(self.task.draw(seed, family))
        targets = self.targets(slot)
        if drawn_tree != self.task.input_tree or any(d.shape != t.shape for d, t in zip(drawn, targets)):
            raise ValueError("get_inputs() returns other shapes from another seed; Assay needs fixed shapes")
        for target, tensor in zip(targets, drawn):
            tree.store(target, tensor)

    def poison(self, first: int, count: int) -> None:
        size = self.task.output_bytes
        self.outputs.memory[first * size : (first + count) * size].fill_(POISON)

    def results(self, slot: int, places: list[int]) -> list[torch.Tensor]:
        """A call's outputs: in its slot (-1, or no places), or where the candidate says they stand.
        Raises OutsideError when that is not in the outputs' memory."""
        found = []
        for index, place in enumerate(self.task.output_places):
            at = places[index] if places else -1
            if at < 0:
                found.append(tree.view(self.outputs.memory, place, slot * self.task.output_bytes))
                continue
            size = tree.extent(place["shape"], place["stride"]) * getattr(torch, place["dtype"]).itemsize
            if at % PLACE_ALIGNMENT or at + size > self.outputs.size:
                raise OutsideError(f"output {index} is said to stand at {at}, which is not in the outputs' memory")
            found.append(tree.view(self.outputs.memory, {**place, "offset": at}))
        return found

    def verify(self, slot: int, places: list[int], want_exact: bool) -> dict:
        """Compares a call's outputs with the reference on that slot's inputs.

        The inputs are drawn again: on a GPU, native code in the candidate's process could give its
        mapping of the arena write access, and what it wrote must not become the question."""
        task = self.task
        task.flags.apply()
        seed, family = self.seeds[slot]
        inputs = task.draw(seed, family)
        changed = not all(_same_bits(a, b) for a, b in zip(tree.flatten(inputs)[1], self.targets(slot)))
        got = self.results(slot, places)
        eager, exact = task.expected(inputs, want_exact, family)
        results = []
        for index, (y, e) in enumerate(zip(got, eager)):
            x = exact[index] if exact is not None and e.dtype.is_floating_point else None
            rule = task.indexed.get(index)
            if rule is not None:
                y = rule.settled(y, e, tree.flatten(inputs)[1])
            result = compare.compare(y, e, x, task.eager_errors[family][index])
            result["output"] = index
            results.append(result)
        total = sum(r["total"] for r in results)
        worst = next((r for r in results if not r["passed"]), results[0] if results else None)
        return {
            "passed": all(r["passed"] for r in results),
            "inputs_changed": changed,
            "max_abs_err": max((r["max_abs_err"] for r in results), default=0.0),
            "max_rel_err": max((r["max_rel_err"] for r in results), default=0.0),
            "mismatch_fraction": sum(r["mismatches"] for r in results) / total if total else 0.0,
            "worst": worst,
            "tolerance": max((compare.tolerance(d) for d in task.output_dtypes), default=0.0),
            **_agreement(results),
            **({"kernelbench": compare.kernelbench(got, eager)} if want_exact else {}),
            "kernelbench_tolerance": max((compare.kernelbench_tolerance(d) for d in task.output_dtypes), default=0.0),
            "reference": "float64" if exact is not None or task.exact_runs else "float32" if task.floating else "exact",
        }

    def close(self) -> None:
        self.views.clear()
        self.late = None
        for arena in self.arenas:
            arena.close()
        self.arenas = []


class Judge:
    """Serves the worker's operations."""

    def __init__(self, channel: Channel, control: native.Control, device: str, folder: str):
        self.channel = channel
        self.device = device
        self.folder = folder
        self.tasks: collections.OrderedDict[tuple, Task] = collections.OrderedDict()
        self.examined: dict[int, Task] = {}
        self.lanes: dict[int, Lane] = {}
        if device != "cpu":
            native.call("assay_gpu_open", 0)
            torch.cuda.init()
        self.watch = Watch(device, control)
        if device != "cpu":
            self._warm()

    def _warm(self) -> None:
        """Loads the kernels that nearly every task needs; each costs milliseconds the first time."""
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            x = torch.randn(256, 256, dtype=dtype, device="cuda")
            y = torch.rand(256, 256, dtype=dtype, device="cuda")
            ((x @ y).relu().softmax(1).sum() + x.mean()).item()
            x.clone().copy_(y.double())
        torch.randint(0, 9, (64,), device="cuda")
        if compare.fused_compare is not None:
            compare.fused_compare.warm()
        if fast_random is not None:
            fast_random.warm()

    def serve(self) -> None:
        while True:
            try:
                request, fds = self.channel.receive()
            except Closed:
                return
            for fd in fds:
                os.close(fd)
            begin = time.perf_counter()
            sent: tuple[int, ...] = ()
            try:
                reply = getattr(self, "op_" + request["op"])(request)
                sent = reply.pop("fds", ())
                reply["ok"] = True
            except Exception as error:
                reply = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
                del error
                self._trim()
            reply["ms"] = (time.perf_counter() - begin) * 1e3
            self.channel.send(reply, sent)
            self.watch.await_round()

    def op_examine(self, request: dict) -> dict:
        """Loads a task for one submission ("lane") and says what it needs."""
        key = (request["sha256"], request["entry"], request["size"])
        if key not in self.tasks:
            self.tasks[key] = Task(request["source"], request["entry"], request["size"], self.device, self.folder)
            while len(self.tasks) > MAX_TASKS:
                self.tasks.popitem(last=False)
        self.tasks.move_to_end(key)
        task = self.tasks[key].for_lane()
        self.examined[request["lane"]] = task
        return {
            "input_bytes": task.input_bytes,
            "output_bytes": task.output_bytes,
            "state_bytes": task.state_bytes,
            "outputs": len(task.output_places),
            "reference_us": task.reference_us,
            "forward_inputs": modules.forward_inputs(task.entry),
            "private_inputs": task.private_inputs,
            "stochastic": task.stochastic,
            "families": task.families,
            "work": task.work,
        }

    def op_screen(self, request: dict) -> dict:
        """Which trivial programs pass a task that was examined before; see health."""
        task = self.tasks[request["sha256"], request["entry"], request["size"]].for_lane()
        task.flags.apply()
        return {"health": health.screen(task, request["limit_s"])}

    def op_precisions(self, request: dict) -> dict:
        """Tries the precisions of a task that was examined before; slow, for audits only."""
        self.tasks[request["sha256"], request["entry"], request["size"]].try_precisions()
        return {}

    def op_facts(self, request: dict) -> dict:
        return calibrate.Gpu(torch.device("cuda", 0), quick=True).card()

    def op_open(self, request: dict) -> dict:
        """Makes the lane's arena of ``slots`` slots; the reply carries the descriptors of
        inputs, outputs and the reference's outputs."""
        lane = Lane(self.examined.pop(request["lane"]), request["slots"], self.device)
        self.lanes[request["lane"]] = lane
        return {
            "plan": lane.plan(),
            "input_size": lane.inputs.size,
            "output_size": lane.outputs.size,
            "init_tree": lane.init_tree,
            "init_places": lane.init_places,
            "state_names": lane.state_names,
            "state_places": lane.state_places,
            "fds": (lane.inputs.fd, lane.outputs.fd, lane.reference_outputs.fd),
        }

    def op_weights(self, request: dict) -> dict:
        self.lanes[request["lane"]].weights(request["seed"])
        return {}

    def op_fill(self, request: dict) -> dict:
        """Inputs of a round: after the GPU was seen quiet, written, and out of the cache again."""
        quiet = self.watch.quiet(request["quiet_ns"])
        family = request.get("family", families.NATIVE)
        self.lanes[request["lane"]].fill(request["first"], request["seeds"], family)
        return {**quiet, **self._ready(request, len(request["seeds"]))}

    def op_flush(self, request: dict) -> dict:
        """Ready for another round on the same inputs (``calls`` of them, or on none)."""
        quiet = self.watch.quiet(request["quiet_ns"])
        return {**quiet, **self._ready(request, request["calls"])}

    def _ready(self, request: dict, calls: int) -> dict:
        hold = request["hold_ns"]
        late = self.lanes[request["lane"]].late.swap(request["first"], calls) if calls and hold else ()
        look = self.watch.flush_and_look(request["quiet_ns"])
        return {**look, **self.watch.hold(hold, late)}

    def op_verify(self, request: dict) -> dict:
        quiet = self.watch.quiet(request["quiet_ns"])
        lane = self.lanes[request["lane"]]
        try:
            result = lane.verify(request["slot"], request["places"], request["exact"])
        except OutsideError as error:
            result = {"passed": False, "outside": str(error)}
        self._trim()
        return {"result": result, **quiet}

    def op_close(self, request: dict) -> dict:
        self.examined.pop(request["lane"], None)
        lane = self.lanes.pop(request["lane"], None)
        if lane is not None:
            lane.close()
        del lane
        self._trim()
        return {}

    def _trim(self) -> None:
        """Gives memory that torch keeps for later back to the candidates, where it is much."""
        if self.device != "cpu" and torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > (8 << 30):
            gc.collect()
            torch.cuda.empty_cache()


def results_bytes(device: str, round_bytes: int) -> int:
    """Size of the region for a round's results and a call's temporaries; 0 where results are copied."""
    if device == "cpu":
        return 0
    slack = torch.cuda.get_device_properties(0).total_memory // 128
    return -(-(round_bytes + round_bytes // 4 + slack) // RESULTS_ALIGNMENT) * RESULTS_ALIGNMENT


def _agreement(results: list[dict]) -> dict:
    """Bits that agree with float64, of the output with the fewest beside the reference's."""
    told = [r for r in results if r.get("bits") is not None]
    if not told:
        return {}
    worst = min(told, key=lambda r: r["bits"] - r["reference_bits"])
    return {"bits": worst["bits"], "reference_bits": worst["reference_bits"]}


def _moved(value, device: str):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(item, device) for item in value)
    if isinstance(value, dict):
        return {key: _moved(item, device) for key, item in value.items()}
    return value


def _doubled(value):
    """Floating tensors in float64 (always copies), all others as they are."""
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            return value.to(torch.complex128)
        return value.double() if value.is_floating_point() else value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(_doubled(item) for item in value)
    if isinstance(value, dict):
        return {key: _doubled(item) for key, item in value.items()}
    return value


# Sources of chance beside torch's, which could decide what get_inputs() asks torch for.
OTHER_RANDOM = re.compile(r"(?<!torch\.)\brandom\b|\bnumpy\b|\btime\b|\bsecrets\b|\buuid\b")
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_contiguous() and b.is_contiguous() and a.element_size() in BITS:  # one pass instead of five
        bits = BITS[a.element_size()]
        return torch.equal(a.reshape(-1).view(bits), b.reshape(-1).view(bits))
    return bool(((a == b) | ((a != a) & (b != b))).all())


def main(channel_fd: int, control_fd: int, device: str, folder: str) -> None:
    channel = Channel(channel_fd)
    judge = Judge(channel, native.Control(control_fd), device, folder)
    channel.send({"event": "ready", "l2_bytes": judge.watch.l2_bytes, "remove": folder})
    judge.serve()
