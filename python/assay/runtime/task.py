"""A task as the judge has it: module, structure of inputs and outputs, weights, what is expected."""

import contextlib
import copy
import math
import os
import re
import sys
import time

import torch

from . import backward, chance, compare, families, indices, modules, shapes, trace_precision, trace_work, tree
from .families import fast_random  # None without Triton: torch draws, more slowly
from .rounds import copied

EXACT_BUDGET_S = 0.25  # a float64 reference slower than this runs in one trial only
HOPELESS_S = 1.0  # ... and one slower than this is not tried again, to see whether others held it up
INITIAL_FLAGS = modules.Flags()  # as torch has them, before any task was imported
LARGEST_EXACT = 4 << 30  # bytes of inputs and outputs that are computed in float64 to admit a family
SLOWEST_FAMILY_US = 200e3  # a slower reference is asked its own inputs only
ADMITTING_DRAWS = 8, 3  # with each of which a family must be well conditioned: of small tasks, of others
SMALL = 64 << 20  # bytes of inputs and outputs
MORE_RUNS = 2  # of a reference that draws random numbers, to see which outputs they reach
RARE_RUNS, RARE_S = 30, 0.5  # ... and as long as they seem to reach none
ROW_S = 8e-3  # of calls that are timed in a row to learn how long the reference takes
# Sources of chance beside torch's, which could decide what get_inputs() asks torch for.
OTHER_RANDOM = re.compile(r"(?<!torch\.)\brandom\b|\bnumpy\b|\btime\b|\bsecrets\b|\buuid\b")
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Task:
    """A loaded task: module, structure of inputs and outputs, and the current weights."""

    def __init__(self, source: str, entry: str, size: str, device: str, folder: str, precision: str = ""):
        """``precision``: of float32 matrix work, see modules.PRECISIONS; empty: as the task says."""
        self.device = device
        path = os.path.join(folder, f"task_{id(self):x}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        INITIAL_FLAGS.under(precision or "default").apply()
        name = f"assay_task_{id(self):x}"
        self.module = modules.load_task(path, name, size)
        sys.modules.pop(name, None)  # the task alone keeps its module alive
        self.precision = precision or _choice(self.module, "PRECISION", modules.PRECISIONS)
        self.flags = modules.Flags().under(self.precision)
        self.flags.apply()
        self.general_shapes = _choice(self.module, "SHAPES", ("fixed", "general")) == "general"
        self.smaller: list[shapes.Shapes | None] = []  # once it was looked for; shared by all lanes
        self.entry = getattr(self.module, entry)
        self.backward = backward.asked_for(self.module)
        self.gradients: list[torch.Tensor] = []  # of the outputs, as a call with gradients takes them
        self.model = None
        self.twin = None
        self.exact: torch.dtype | None = torch.float64  # what the reference is run in to tell its rounding
        self.exact_s = math.inf  # that its fastest run took
        self.exact_timed = 0  # runs, those of the examination too
        self.exact_runs = 0
        self.why_not_exact = ""
        self.eager_errors: dict[str, list[compare.EagerError]] = {}  # by family of inputs
        self.random: frozenset[int] = frozenset()  # numbers of the outputs that are, see stochastic
        self.kinds: list[str] = []  # of the inputs, see families
        self.recipe: list[bool] | None = None  # see plain_draws
        self.families = [families.NATIVE]
        self.examine(source)

    def examine(self, source: str) -> None:
        """Runs the reference on a throw-away seed and notes what it takes and gives."""
        self.build(seed=1)
        if self.backward:
            self.gradients = backward.gradients_like(self.run(self.model.model, self.draw_native(2)[:-1]))
        inputs = self.draw(seed=2)
        self.input_tree, tensors = tree.flatten(inputs)
        # get_inputs() may seed its own generator: then one answer, once found, is right for ever.
        others = self.draw(seed=3)
        same = [a.shape == b.shape and same_bits(a, b) for a, b in zip(tensors, tree.flatten(others)[1])]
        self.same_inputs = all(same)
        self.constant_inputs = any(held and a.numel() >= families.LEAST for held, a in zip(same, tensors))
        self.input_places, self.input_bytes = tree.layout(tensors, 0, keep_strides=True)
        before = [t.clone(memory_format=torch.preserve_format) for t in tensors]
        self.kinds = families.kinds_of(tensors)
        first = self.run(self.model, inputs, torch_seed=11)
        self.writes_inputs = any(not same_bits(a, b) for a, b in zip(before, tensors))

        def fresh() -> list:
            copies = [t.clone(memory_format=torch.preserve_format) for t in before]
            return tree.unflatten(self.input_tree, copies, self.device)

        modules.seed_everything(12)
        before_second = modules.random_state()
        second = self.run(self.model, fresh(), torch_seed=12)
        drawn = modules.random_state() != before_second
        self.reference_us = self.time_calls(fresh())
        self.output_tree, outputs = tree.flatten(first)
        self.require_one_form(outputs, tensors, others)
        del others
        self.output_places, self.output_bytes = tree.layout(outputs, 0, keep_strides=False)
        self.output_dtypes = [t.dtype for t in outputs]
        self.indexed = indices.find(tree.flatten(fresh())[1], outputs)
        self.random = chance.random_outputs(outputs, tree.flatten(second)[1])
        if self.random and not drawn:
            self.require_no_state(outputs, fresh())
        begin = time.perf_counter()
        for more in range(RARE_RUNS if drawn else 0):  # a whole layer may be left out now and then
            if more >= MORE_RUNS and (self.random or time.perf_counter() - begin > RARE_S):
                break
            run = self.run(self.model, fresh(), torch_seed=13 + more)
            self.random |= chance.random_outputs(outputs, tree.flatten(run)[1])
        self.random_elements = min((outputs[k].numel() for k in self.random), default=0)
        del second
        self.floating = any(t.is_floating_point() or t.is_complex() for t in outputs)
        state = self.state()[1]
        self.state_bytes = sum(t.numel() * t.element_size() for t in state)
        self.state_like = [torch.empty_like(t, device="meta") for t in state]
        self.state_names = self.state()[0]
        self.gradient_names = self.model.names if self.backward else None  # of parameters
        self.recipe = None if self.backward else self.plain_draws(source)
        names = (families.NATIVE, *families.OTHERS, shapes.JITTERED)
        self.eager_errors = {name: [compare.EagerError() for _ in outputs] for name in names}
        self.families += [name for name in families.OTHERS if self.admits(name, outputs)]
        # What the trials find out for themselves: memory that was short may be there then.
        self.twin, self.exact_runs, self.exact = None, 0, torch.float64
        self.work = self.trace(fresh())
        self.model = None  # the module stays loaded, gigabytes of weights do not

    def require_one_form(self, outputs: list[torch.Tensor], tensors: list[torch.Tensor], others: list) -> None:
        """Raises ValueError where other inputs give outputs of another form."""
        if any(a.shape != b.shape for a, b in zip(tensors, tree.flatten(others)[1])):
            return  # what a draw gives is said where it is stored
        form, found = tree.flatten(self.run(self.model, others, torch_seed=11))
        if form != self.output_tree or any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(outputs, found)):
            raise ValueError(
                "the reference's outputs have shapes, types or plain numbers that depend on the values of its"
                " inputs; return tensors of fixed shapes (a 0-d tensor in place of .item())"
            )

    def require_no_state(self, outputs: list[torch.Tensor], inputs: list) -> None:
        """For outputs that differ between two runs although no random numbers were drawn: raises ValueError
        where those of a new module's first run are the same again. Else they are a race's."""
        self.build(seed=1)
        again = tree.flatten(self.run(self.model, inputs, torch_seed=11))[1]
        if not chance.random_outputs(outputs, again):
            raise ValueError(
                "the reference keeps state: on the same inputs a second call gives other outputs, and no single"
                " one is right; return the state, or put the module into eval mode"
            )

    def admits(self, family: str, native_outputs: list[torch.Tensor]) -> bool:
        """Whether trials may ask for inputs of another family. Where float64 is slow, these are the only
        runs of it with that family: what they tell of eager's error holds for all trials."""
        slow = self.reference_us > SLOWEST_FAMILY_US
        large = self.input_bytes + self.output_bytes > LARGEST_EXACT
        if slow or all(kind == "fixed" for kind in self.kinds):
            return False
        # What only some draws are ill-conditioned with, an honest submission must not meet by chance.
        draws = []
        few = large or family == families.RARE  # whose few elements are not what an output is made of
        count = 1 if few else ADMITTING_DRAWS[self.input_bytes + self.output_bytes > SMALL]
        for seed in range(2, 2 + count):
            worst = self.admits_draw(seed, family, native_outputs, large)
            if worst is None:
                return False
            draws.append(worst)
        return all(compare.steady(list(worst)) for worst in zip(*draws))

    def admits_draw(
        self, seed: int, family: str, native_outputs: list[torch.Tensor], large: bool
    ) -> list[float] | None:
        """Eager's worst errors where the rule itself must allow them, by output; None: not admitted."""
        try:
            outputs, exact = self.expected(self.draw(seed, family), not large and not self.random, family)
        except Exception:  # a reference may refuse what it was not written for
            return None
        if not families.admits(native_outputs, outputs, family):
            return None
        if exact is None:
            return [] if large or not self.floating or self.random else None
        errors = []
        for e, x, known in zip(outputs, exact, self.eager_errors[family]):
            if not e.is_floating_point():
                continue
            own = compare.EagerError()
            if not compare.well_conditioned(e, x, own, self.precision):
                return None
            errors.append(own.worst if own.worst <= 1.0 else 0.0)
            known.include(own)
        return errors

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
        if known or self.writes_inputs or not trace_precision.applies(self.work):
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
        """The same task with weights of its own. What is known of eager's error is that of the examination:
        a verdict must not rest on what other submissions met."""
        twin = copy.copy(self)
        twin.eager_errors = copy.deepcopy(self.eager_errors)
        return twin

    def build(self, seed: int) -> None:
        """Fresh weights; its exact twin is made when it is first needed."""
        self.model = self.twin = None
        modules.seed_everything(seed)
        self.init_inputs = list(self.module.get_init_inputs())
        self.model = modules.build(self.entry, self.init_inputs, seed, self.device)
        if self.backward:
            self.model = backward.WithGradients(self.model)

    def jittered(self) -> shapes.Shapes | None:
        """Smaller inputs that the reference accepts. The first time costs a few runs of it."""
        if not self.smaller:
            twin = self.for_lane()
            twin.build(seed=3)
            self.smaller.append(shapes.find(twin))
        return self.smaller[0]

    def draw(self, seed: int, family: str = families.NATIVE) -> list:
        """Inputs from a hidden seed, drawn on the device; every dtype stays as the task made it."""
        inputs = self.draw_native(seed)
        if family == families.NATIVE:
            return inputs
        spec, tensors = tree.flatten(inputs)
        if family == families.RARE:
            if self.recipe is None:  # a task may hand out tensors that it keeps
                tensors = [t.clone(memory_format=torch.preserve_format) for t in tensors]
            families.make_rare(self.kinds, tensors, [seed])
            return tree.unflatten(spec, tensors, self.device)
        if family == shapes.JITTERED:
            return tree.unflatten(spec, self.jittered().narrowed(tensors), self.device)
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

    def private(self, inputs: list) -> list:
        """Inputs for a run that must leave ``inputs`` as they are."""
        return copied(inputs) if self.writes_inputs else inputs

    def tolerance(self, dtype: torch.dtype) -> float:
        return compare.tolerance(dtype, self.precision)

    def expected(self, inputs: list, want_exact: bool, family: str = families.NATIVE) -> tuple[list, list | None]:
        """(eager outputs, float64 outputs or None) as flat lists; the inputs stay untouched. Where
        float64 is slow it is computed until eager's error in that family is known; where memory is short of it
        the outputs are those of float32 without shortcuts; not every reference runs in it."""
        eager = tree.flatten(self.run(self.model, self.private(inputs)))[1]
        # A random reference draws other numbers in float64: its twin is another function.
        wanted = want_exact and self.floating and not self.random
        known = family != families.NATIVE and any(error.measured for error in self.eager_errors[family])
        if self.exact_slow and (known or (family == families.NATIVE and self.exact_runs > 0)):
            return eager, None
        while wanted and self.exact is not None:
            try:
                begin = time.perf_counter()
                exact = self._run_twin(inputs)
                if [t.shape for t in exact] != [t.shape for t in eager]:
                    raise RuntimeError(f"the reference in {self.exact} has other shapes")
                self.exact_s = min(self.exact_s, time.perf_counter() - begin)
                self.exact_timed += 1
                self.exact_runs += 1
                return eager, exact
            except Exception as error:
                self.why_not_exact = f"{type(error).__name__}: {error}"[:300]
                # One that does not run in float64 may be no function of its inputs at all.
                short = isinstance(error, torch.OutOfMemoryError) and self.exact is torch.float64
                self.exact = torch.float32 if short and all(t.dtype != torch.float64 for t in eager) else None
                self.twin = None
                if self.device != "cpu":
                    torch.cuda.empty_cache()
        return eager, None

    def _run_twin(self, inputs: list) -> list:
        """The outputs of the reference with everything in ``exact``, as float64."""
        if self.twin is None:
            twin = copy.deepcopy(self.model)
            self.twin = twin.double() if self.exact is torch.float64 else twin.float()
        if self.exact is torch.float64:
            return tree.flatten(self.run(self.twin, _doubled(inputs)))[1]
        self.flags.under("ieee").apply()
        try:
            single = [t.float() if t.is_floating_point() else t for t in tree.flatten(self.private(inputs))[1]]
            outputs = self.run(self.twin, tree.unflatten(tree.flatten(inputs)[0], single, self.device))
            return [_doubled(t) for t in tree.flatten(outputs)[1]]
        finally:
            self.flags.apply()

    @property
    def exact_slow(self) -> bool:
        """Whether float64 runs only where it must. What one run took says little: a device has other users."""
        return self.exact_timed > 0 and self.exact_s > (EXACT_BUDGET_S if self.exact_timed > 1 else HOPELESS_S)

    @property
    def compared_with(self) -> str:
        """What outputs are compared with, as verdicts call it."""
        if not self.floating:
            return "exact"
        if not self.exact_runs or self.exact is None:
            return "float32"
        return "float64" if self.exact is torch.float64 else "strict float32"

    @property
    def temporary_bytes(self) -> int:
        """Of a call and its comparison in float64; MemoryNeeded() in evaluation.cc sets it aside."""
        return 4 * self.input_bytes + 8 * self.output_bytes

    def state(self) -> tuple[list[str], list[torch.Tensor]]:
        if not isinstance(self.model, torch.nn.Module):
            return [], []
        items = [(k, v) for k, v in self.model.state_dict().items() if isinstance(v, torch.Tensor)]
        return [k for k, _ in items], [v for _, v in items]

    def synchronize(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()


def _choice(module, name: str, choices: tuple) -> str:
    """What a task's module says of itself; the first of the choices where it says nothing."""
    said = getattr(module, name, choices[0])
    if said not in choices:
        raise ValueError(f"{name} is {said!r}; there are {', '.join(choices)}")
    return said


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


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_contiguous() and b.is_contiguous() and a.element_size() in BITS:  # one pass instead of five
        bits = BITS[a.element_size()]
        return torch.equal(a.reshape(-1).view(bits), b.reshape(-1).view(bits))
    return bool(((a == b) | ((a != a) & (b != b))).all())
