"""Every built-in task must be a task worth judging: it runs, and no cheap answer passes for it.

The small sizes run on any machine; the large ones too where there is a GPU.
"""

import ast
import copy
import functools
import time
import types
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2] / "tasks"
FILES = sorted(ROOT.glob("*/*.py"))
IDS = [f"{path.parent.name}/{path.stem}" for path in FILES]
FAMILIES = {
    "elementwise", "reduction", "normalisation", "softmax", "matmul", "convolution", "pooling",
    "attention", "scan", "gather", "fused", "nets",
}  # fmt: skip

# Tasks whose reference writes to its inputs, and says so.
MUTATES = {"elementwise/ema_update_inplace"}

# The judge's tolerance for float32, and what half precision resolves.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}

MAX_INPUT_BYTES = {"cpu": 4 << 20, "gpu": 1 << 30}
# Eager PyTorch: on the CPU the time of one thread, which a busy machine does not change much.
MAX_MILLISECONDS = {"cpu": 15, "gpu": 8}

gpu = pytest.param("gpu", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))


class Task:
    """A task at one size, loaded as the judge loads it."""

    def __init__(self, path, size):
        self.device = "cuda" if size == "gpu" else "cpu"
        self.module = types.ModuleType(path.stem)
        exec(compile(path.read_text(), str(path), "exec"), vars(self.module))
        vars(self.module).update(self.module.SIZES[size])
        with torch.device(self.device):
            torch.manual_seed(0)
            self.model = self.module.Model(*self.module.get_init_inputs())
        self.output = functools.lru_cache(lambda seed: self.run(self.inputs(seed)))

    def inputs(self, seed):
        with torch.device(self.device):
            torch.manual_seed(seed)
            return self.module.get_inputs()

    @torch.no_grad()
    def run(self, inputs):
        """Output leaves by name; neither inputs nor the model's buffers are changed."""
        model = copy.deepcopy(self.model)
        torch.manual_seed(7)  # references that draw random numbers draw the same ones
        return leaves(model(*(x.clone() for x in inputs)))


@functools.lru_cache(maxsize=1)  # one at a time: the large ones fill a GPU
def load(name, size):
    return Task(ROOT / f"{name}.py", size)


@pytest.fixture(params=["cpu", gpu], scope="module")
def size(request):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield request.param
    torch.set_num_threads(threads)


@pytest.fixture(params=IDS, scope="module")
def task(request, size):
    task = load(request.param, size)
    task.name, task.size = request.param, size
    return task


def leaves(output):
    """The outputs by name or place."""
    if isinstance(output, dict):
        return dict(output)
    if isinstance(output, (tuple, list)):
        return dict(enumerate(output))
    return {0: output}


def close(got, expected):
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    tolerance = TOLERANCE.get(expected.dtype, 0)
    return torch.allclose(got.double(), expected.double(), rtol=tolerance, atol=tolerance)


def all_close(got, expected):
    return got.keys() == expected.keys() and all(close(got[k], expected[k]) for k in expected)


def test_there_are_tasks_of_every_family():
    assert {path.parent.name for path in FILES} == FAMILIES
    assert len(FILES) >= 52
    assert len({path.stem for path in FILES}) == len(FILES), "ids are made of the file names"


@pytest.mark.parametrize("name", IDS)
def test_the_file_keeps_the_format(name):
    source = (ROOT / f"{name}.py").read_text()
    assert len(ast.get_docstring(ast.parse(source)).splitlines()) <= 2
    names = {}
    exec(source, names)
    sizes = names["SIZES"]
    assert list(sizes) == ["cpu", "gpu"]
    assert list(sizes["cpu"]) == list(sizes["gpu"])
    assert {key: names[key] for key in sizes["gpu"]} == sizes["gpu"], "used as it is: GPU size"


def test_it_runs_and_repeats(task):
    inputs = task.inputs(1)
    first, second = task.output(1), task.run(inputs)
    assert all_close(second, first)
    for leaf in first.values():
        assert leaf.device.type == task.device
        assert leaf.numel() > 0
        assert leaf.double().isfinite().all()
    assert sum(x.numel() * x.element_size() for x in inputs) <= MAX_INPUT_BYTES[task.size]


def test_no_constant_passes(task):
    for leaf in task.output(1).values():
        assert not close(torch.zeros_like(leaf), leaf)
        assert not close(torch.ones_like(leaf), leaf)
        if leaf.numel() > 1:
            assert not close(torch.full_like(leaf, leaf.double().mean().item()), leaf)


def test_another_seed_gives_another_output(task):
    outputs = [task.output(seed) for seed in (1, 2, 3)]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        for key, leaf in outputs[a].items():
            assert not close(outputs[b][key], leaf)


def test_no_input_passes_for_an_output(task):
    inputs = task.inputs(1)
    for leaf in task.output(1).values():
        assert not any(close(x, leaf) for x in inputs)


def test_every_input_and_parameter_matters(task):
    inputs, others = task.inputs(1), task.inputs(2)
    expected = task.output(1)
    for i, other in enumerate(others):
        assert not all_close(task.run([*inputs[:i], other, *inputs[i + 1 :]]), expected), f"input {i}"
    for name, parameter in task.model.named_parameters():
        before = parameter.data.clone()
        parameter.data += torch.randn_like(parameter)
        changed = task.run(inputs)
        parameter.data.copy_(before)
        assert not all_close(changed, expected), name


def test_only_the_tasks_that_say_so_write_their_inputs(task):
    inputs, pristine = task.inputs(1), task.inputs(1)
    with torch.no_grad():
        copy.deepcopy(task.model)(*inputs)
    wrote = not all(torch.equal(x, before) for x, before in zip(inputs, pristine))
    assert wrote == (task.name in MUTATES)


def test_it_takes_a_sensible_time(task, record_testsuite_property):
    inputs = task.inputs(1)
    times = []
    with torch.no_grad():
        for _ in range(5):
            times.append(run_milliseconds(task, inputs))
    record_testsuite_property(f"{task.name} {task.size} ms", f"{min(times):.3f}")
    assert min(times) <= MAX_MILLISECONDS[task.size]


def run_milliseconds(task, inputs):
    if task.size == "cpu":
        start = time.thread_time()
        task.model(*inputs)
        return 1e3 * (time.thread_time() - start)
    torch.cuda.synchronize()
    start = time.perf_counter()
    task.model(*inputs)
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start)
