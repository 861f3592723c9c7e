"""One submission's share of the judge: the arena, and the comparison of what was put into it."""

import copy
import sys
import time

import torch

from . import compare, families, native, shapes, stochastic, tree
from .arena import Arena, ArenaStore
from .chance import Chance
from .late_words import LateWords
from .task import Task, fast_random, same_bits

RESULTS_ALIGNMENT = 2 << 20  # of the region that torch's allocator takes results from
PLACE_ALIGNMENT = 16  # bytes; torch aligns to 512, a view may begin anywhere in its tensor
SHARED, EXPECTED = "shared", "expected"  # kinds of memory: candidates map the first only
KEPT_BYTES = 32 << 20  # of inputs and outputs of a call that is verified later
POISON = 0xFF  # every byte of the outputs before a round: NaN in each float type, -1 in integers


class OutsideError(ValueError):
    """A candidate says that a result stands where it cannot stand."""


class Lane:
    """One submission's share of the judge: a task and the arena.

    Processes that call modules have numbers: 0 the candidate's, 1 the reference's, 2 and more the
    baselines'. They read the same inputs, in memory that they cannot write. Where the reference writes its
    inputs, each has its own in the memory of its outputs, written anew before every pair of rounds."""

    def __init__(self, task: Task, slots: int, arenas: ArenaStore, warm: bool = False, baselines: int = 0):
        """``warm``: rounds find their inputs in the cache. ``baselines``: processes that are timed beside
        the reference, each with outputs of its own."""
        device = arenas.device
        self.task = task
        self.warm = warm
        self.slots = slots
        self.device = device
        names, state = task.state_names, task.state_like
        init_tree, init = tree.flatten(task.init_inputs)
        init = [t.to(device) for t in init]
        self.init_places, end = tree.layout(init, 0, keep_strides=True)
        self.state_places, end = tree.layout(state, end, keep_strides=False)
        self.state_names, self.init_tree = names, init_tree
        self.seeds: dict[int, tuple[int, str]] = {}  # seed and family of what stands in each slot
        self.views: dict[tuple[int, bool], list[torch.Tensor]] = {}  # of the slots that were used
        self.late, self.holders, self.drawn = [], [], None
        self.kept: list[tuple] = []  # calls to verify: seed, family, inputs as they stood, outputs
        self.remembered: list[torch.Tensor] = []  # outputs of a call that will be repeated
        self.ahead: tuple | None = None  # seed, family, inputs and what is expected of a call to come
        self.store = arenas
        self.arenas: list[tuple[str, Arena]] = []  # with their kinds
        self.chance = Chance(task) if task.random else None
        self.temporary_bytes = task.temporary_bytes
        self.results_at = -(-slots * task.output_bytes // RESULTS_ALIGNMENT) * RESULTS_ALIGNMENT
        self.results_bytes = results_bytes(device, slots * task.output_bytes)
        sizes = {"inputs": end, "outputs": self.results_at + self.results_bytes}
        held_by = "outputs" if task.writes_inputs else "inputs"
        self.inputs_at = sizes[held_by]
        sizes[held_by] += slots * task.input_bytes
        # The reference's results are expected outputs: never in memory that a candidate can map.
        inputs, outputs = (SHARED, sizes["inputs"]), (SHARED, sizes["outputs"])
        reference = [(EXPECTED, outputs[1])] * (1 + baselines)
        arenas.expect([inputs, outputs, *reference])
        try:
            self.inputs = self._arena(*inputs, sealed=True)
            self.outputs = self._arena(*outputs)
            self.reference_outputs = [self._arena(*each) for each in reference]
            holders = [self.outputs, *self.reference_outputs] if task.writes_inputs else [self.inputs]
            self.holders = [arena.memory for arena in holders]  # of the inputs
            self.drawn = self.holders[-1]  # they are drawn here: of several, in none that a candidate maps
            self.late = [
                LateWords(memory, task.input_places, self.inputs_at, task.input_bytes) for memory in self.holders
            ]
        except BaseException:
            self.close()
            raise

    def _arena(self, kind: str, size: int, sealed: bool = False) -> Arena:
        arena = self.store.take(kind, size, sealed)
        self.arenas.append((kind, arena))
        return arena

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
            "output_sizes": [t.nbytes for t in self.results(0, [], [])],
            "results_at": self.results_at,
            "results_bytes": self.results_bytes,
            "writes_inputs": task.writes_inputs,
            "gradients": task.gradient_names,
            "precision": task.precision,
        }

    def weights(self, seed: int) -> None:
        self.ahead = None
        self.task.flags.apply()
        self.task.build(seed)
        init = [t.to(self.device) for t in tree.flatten(self.task.init_inputs)[1]]
        for place, tensor in zip(self.init_places, init):
            tree.store(tree.view(self.inputs.memory, place), tensor)
        for place, tensor in zip(self.state_places, self.task.state()[1]):
            tree.store(tree.view(self.inputs.memory, place), tensor)
        self.task.synchronize()

    def targets(self, slot: int, family: str = families.NATIVE) -> list[torch.Tensor]:
        """The tensors of an input slot, where inputs are drawn."""
        key = slot, family == shapes.JITTERED
        if key not in self.views:
            base = self.inputs_at + slot * self.task.input_bytes
            places = self.task.jittered().input_places if key[1] else self.task.input_places
            self.views[key] = [tree.view(self.drawn, place, base) for place in places]
        return self.views[key]

    def late_words(self, process: int) -> LateWords:
        return self.late[process if self.task.writes_inputs else 0]

    def touch(self, process: int, first: int, count: int) -> None:
        """Reads a process's inputs of some slots, so that the cache holds what it can of them."""
        begin, end = self._span(first, count)
        self.holders[process if self.task.writes_inputs else 0][begin:end].max()

    def _span(self, first: int, count: int) -> tuple[int, int]:
        """Where the inputs of some slots begin and end."""
        begin = self.inputs_at + first * self.task.input_bytes
        return begin, begin + count * self.task.input_bytes

    def fill(self, first: int, seeds: list[int], family: str = families.NATIVE, rare: list[int] | None = None) -> None:
        """New inputs in the slots from ``first``; ``rare``: the slots of those that get that family."""
        self.task.flags.apply()
        self.seeds.update((slot, (seed, family)) for slot, seed in enumerate(seeds, first))
        rare = rare or []
        if self.task.recipe is not None and family in (families.NATIVE, families.RARE):
            rare = list(range(first, first + len(seeds))) if family == families.RARE else rare
            keys = fast_random.keys(seeds)
            for stream, (tensor, normal) in enumerate(zip(self.targets(first), self.task.recipe)):
                stride = self.task.input_bytes // tensor.element_size()
                fast_random.fill(tensor, stride, keys, stream, normal)
        else:
            for slot, seed in enumerate(seeds, first):
                self._draw(slot, seed, family)
        if rare:
            keys = [self.seeds[slot][0] for slot in rare]
            self.seeds.update((slot, (seed, families.RARE)) for slot, seed in zip(rare, keys))
            bases = tuple((slot - first) * self.task.input_bytes for slot in rare)
            families.make_rare(self.task.kinds, self.targets(first), keys, bases)
        begin, end = self._span(first, len(seeds))
        for other in self.holders[:-1]:
            other[begin:end].copy_(self.drawn[begin:end])
        self.poison(first, len(seeds))

    def _draw(self, slot: int, seed: int, family: str) -> None:
        drawn_tree, drawn = tree.flatten(self.task.draw(seed, family))
        targets = self.targets(slot, family)
        if drawn_tree != self.task.input_tree or any(d.shape != t.shape for d, t in zip(drawn, targets)):
            raise ValueError("get_inputs() returns other shapes from another seed; Assay needs fixed shapes")
        for target, tensor in zip(targets, drawn):
            tree.store(target, tensor)

    def poison(self, first: int, count: int) -> None:
        size = self.task.output_bytes
        self.outputs.memory[first * size : (first + count) * size].fill_(POISON)

    def erase_outputs(self) -> None:
        """All of the memory that candidates write, also what no output stands in."""
        self.outputs.memory.fill_(POISON)
        self.task.synchronize()

    def results(
        self, slot: int, places: list[int], strides: list[int], family: str = families.NATIVE
    ) -> list[torch.Tensor]:
        """A call's outputs: in its slot (-1, or no places), or where the candidate says they stand, with
        the strides that it says. Raises OutsideError when that is not in the outputs' memory."""
        found = []
        jittered = family == shapes.JITTERED
        for index, place in enumerate(self.task.jittered().output_places if jittered else self.task.output_places):
            at = places[index] if places else -1
            if at < 0:
                found.append(tree.view(self.outputs.memory, place, slot * self.task.output_bytes))
                continue
            begin, dims = native.MAX_DIMS * index, len(place["shape"])
            there = {**place, "offset": at, "stride": strides[begin : begin + dims]}
            size = tree.extent(there["shape"], there["stride"]) * getattr(torch, place["dtype"]).itemsize
            strided = index < native.MAX_STRIDED and dims <= native.MAX_DIMS and min(there["stride"], default=0) >= 0
            if at % PLACE_ALIGNMENT or at + size > self.outputs.size or not strided:
                raise OutsideError(f"output {index} is said to stand at {at}, which is not in the outputs' memory")
            found.append(tree.view(self.outputs.memory, there))
        return found

    def expect(self, slot: int) -> None:
        """Computes what a call's outputs will be compared with: a first call compiles meanwhile."""
        self.ahead = None
        self.task.flags.apply()
        seed, family = self.seeds[slot]
        inputs = self.task.draw(seed, family)
        before = self.task.exact
        self.ahead = seed, family, inputs, *self.task.expected(inputs, True, family)
        self.task.synchronize()
        if self.task.exact is not before:  # the call that goes on beside this may have had the memory
            self.task.exact, self.task.twin, self.ahead = before, None, None

    def verify(self, slot: int, places: list[int], strides: list[int], want_exact: bool) -> dict:
        """Compares a call's outputs with the reference on that slot's inputs."""
        return self._verified(*self._taken(slot, places, strides), want_exact)

    def remember(self, slot: int) -> None:
        """Notes a call's outputs for ``repeated``."""
        self.remembered = [t.clone() for t in self.results(slot, [], [])]

    def repeated(self, slot: int) -> bool:
        """Whether another call on the same inputs gave the same bits."""
        before, self.remembered = self.remembered, []
        return all(same_bits(a, b) for a, b in zip(before, self.results(slot, [], []), strict=True))

    def keep(self, slot: int, places: list[int], strides: list[int]) -> bool:
        """Sets aside what ``verify`` would compare, for ``verify_kept``: while a timing has the device, nobody
        waits for a comparison. False where the call is too large for that, or random."""
        seed, family, found, got = self._taken(slot, places, strides)
        # An expanded input takes little memory, its copy all that it stands for.
        if self.chance or sum(t.numel() * t.element_size() for t in (*found, *got)) > KEPT_BYTES:
            return False
        self.kept.append((seed, family, [t.clone() for t in found], [t.clone() for t in got]))
        self.task.synchronize()  # the candidate may run on with the reply
        return True

    def verify_kept(self, limit_s: float) -> tuple[int, dict | None]:
        """Verifies calls that were set aside, one at least, until the time is over: how many, and what
        there is to say of the first that is wrong, or of the last."""
        begin, count, report = time.perf_counter(), 0, None
        while self.kept and (count == 0 or time.perf_counter() - begin < limit_s):
            report = self._verified(*self.kept.pop(0), False)
            count += 1
            if not report["passed"] or report["inputs_changed"]:
                self.kept.clear()
        return count, report

    def _taken(self, slot: int, places: list[int], strides: list[int]) -> tuple:
        seed, family = self.seeds[slot]
        return seed, family, self._found(slot, family), self.results(slot, places, strides, family)

    def _found(self, slot: int, family: str) -> list[torch.Tensor]:
        """What stands where a slot's inputs were put; nothing where submissions may write there."""
        return [] if self.task.writes_inputs else self.targets(slot, family)

    def _verified(self, seed: int, family: str, found: list, got: list, want_exact: bool) -> dict:
        """``found``: what stands where the inputs of ``seed`` and ``family`` were put. They are drawn again:
        on a GPU, native code in the candidate's process could give its mapping of the arena write access,
        and what it wrote must not become the question."""
        task = self.task
        task.flags.apply()
        ahead, self.ahead = self.ahead, None
        prepared = ahead is not None and want_exact and ahead[:2] == (seed, family)
        inputs = ahead[2] if prepared else task.draw(seed, family)
        changed = _differ(inputs, found)
        if self.chance:
            refused = self.chance.timed(inputs, seed, got)
            return self._random_report(inputs, family, got, refused, changed)
        eager, exact = ahead[3:] if prepared else task.expected(inputs, want_exact, family)
        known = copy.deepcopy(task.eager_errors[family])
        results = self._compared(inputs, family, got, eager, exact)
        # So few may be a fault of what is expected as well; computed once more, that does not stay.
        again = task.expected(inputs, want_exact, family) if _scattered(results) else None
        if again is not None and (again[1] is None) == (exact is None):
            task.eager_errors[family] = known
            eager, exact = again
            results = self._compared(inputs, family, got, eager, exact)
            if all(r["passed"] for r in results):
                print("the expected values were wrong once and are right now", file=sys.stderr, flush=True)
        return {
            **self._report(results, changed),
            **_agreement(results),
            **({"kernelbench": compare.kernelbench(got, eager)} if want_exact and family == families.NATIVE else {}),
            "kernelbench_tolerance": max((compare.kernelbench_tolerance(d) for d in task.output_dtypes), default=0.0),
            "reference": task.compared_with,
        }

    def verify_draws(self, first: int, count: int, last: bool) -> dict:
        """For a task with random outputs: takes calls on the same inputs, in ``count`` slots, as draws of
        the candidate. After the ``last`` of a trial's rounds compares them with the reference's."""
        task = self.task
        task.flags.apply()
        seed, family = self.seeds[first]
        inputs = task.draw(seed, family)
        if self.chance.trial is None:
            self.chance.begin(inputs, seed)
        changed = False
        for slot in range(first, first + count):
            got = self.results(slot, [], [])
            changed = changed or _differ(inputs, self._found(slot, family))
            self.chance.add(got)
        refused = self.chance.finish() if last else None
        return self._random_report(inputs, family, got, refused, changed)

    def _random_report(self, inputs: list, family: str, got: list, refused: dict | None, changed: bool) -> dict:
        fixed = self._compared(inputs, family, got, self.chance.fixed, None)
        report = {**self._report(fixed, changed), "reference": "distribution"}
        if refused is None:
            return report
        worst = {"output": refused["output"], "pattern": stochastic.pattern(refused["figure"]), "first_bad": None}
        return {**report, "passed": False, "worst": worst, "mismatch_fraction": 1.0}

    def _compared(self, inputs: list, family: str, got: list, eager: list, exact: list | None) -> list[dict]:
        """The numeric rule for every output that is not random."""
        task, results = self.task, []
        for index, (y, e) in enumerate(zip(got, eager)):
            if index in task.random:
                continue
            x = exact[index] if exact is not None and e.dtype.is_floating_point else None
            rule = task.indexed.get(index)
            if rule is not None:
                y = rule.settled(y, e, tree.flatten(inputs)[1])
            result = compare.compare(y, e, x, task.eager_errors[family][index], task.precision)
            result["output"] = index
            results.append(result)
        return results

    def _report(self, results: list[dict], changed: bool) -> dict:
        total = sum(r["total"] for r in results)
        worst = next((r for r in results if not r["passed"]), results[0] if results else None)
        return {
            "passed": all(r["passed"] for r in results),
            "inputs_changed": changed,
            "max_abs_err": max((r["max_abs_err"] for r in results), default=0.0),
            "max_rel_err": max((r["max_rel_err"] for r in results), default=0.0),
            "mismatch_fraction": sum(r["mismatches"] for r in results) / total if total else 0.0,
            "worst": worst,
            "tolerance": max((self.task.tolerance(d) for d in self.task.output_dtypes), default=0.0),
        }

    def close(self, unshared: bool = False) -> None:
        """``unshared``: no candidate maps the memory any more, so that it may be kept for another lane."""
        self.views.clear()
        self.kept.clear()
        self.remembered, self.ahead = [], None
        self.late, self.holders, self.drawn = [], [], None
        for kind, arena in self.arenas:
            if unshared:
                self.store.give(kind, arena)
            else:
                arena.close()
        self.arenas = []


def results_bytes(device: str, round_bytes: int) -> int:
    """Size of the region for a round's results and a call's temporaries; 0 on the CPU, where they stay in the
    process's own memory."""
    if device == "cpu":
        return 0
    slack = torch.cuda.get_device_properties(0).total_memory // 128
    return -(-(round_bytes + round_bytes // 4 + slack) // RESULTS_ALIGNMENT) * RESULTS_ALIGNMENT


def _differ(inputs: list, found: list[torch.Tensor]) -> bool:
    """Whether a slot's inputs are other than what was drawn, as far as they were ``found``."""
    return not all(same_bits(a, b) for a, b in zip(tree.flatten(inputs)[1], found))


def _scattered(results: list[dict]) -> bool:
    return any(r["pattern"] == compare.SCATTERED for r in results)


def _agreement(results: list[dict]) -> dict:
    """Bits that agree with float64, of the output with the fewest beside the reference's."""
    told = [r for r in results if r.get("bits") is not None]
    if not told:
        return {}
    worst = min(told, key=lambda r: r["bits"] - r["reference_bits"])
    return {"bits": worst["bits"], "reference_bits": worst["reference_bits"]}
