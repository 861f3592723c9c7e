"""Global switches of torch: set for a task's precision, kept apart, and seen when somebody moves them."""

import pytest
import torch

from assay.runtime import compare, modules, task

TASK = """
import torch
{extra}

class Model(torch.nn.Module):
    def forward(self, x):
        return x @ x


def get_inputs():
    return [torch.randn(32, 32)]


def get_init_inputs():
    return []
"""


@pytest.fixture(autouse=True)
def as_before():
    before = modules.Flags()
    yield
    before.apply()
    assert modules.Flags().values == before.values


@pytest.fixture
def loaded(tmp_path):
    return lambda extra="", precision="": task.Task(TASK.format(extra=extra), "Model", "cpu", "cpu", str(tmp_path), precision)


def tf32():
    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize("move, flag", [
    (lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True), "global_precision"),
    (lambda: setattr(torch.backends.cudnn, "allow_tf32", False), "global_precision"),
    (lambda: torch.set_float32_matmul_precision("medium"), "global_precision"),
    (lambda: setattr(torch.backends.cudnn, "benchmark", True), "global_cudnn"),
    (lambda: setattr(torch.backends.cudnn, "deterministic", True), "global_cudnn"),
    (lambda: setattr(torch.backends.cudnn, "enabled", False), "global_cudnn"),
    (lambda: torch.set_default_dtype(torch.float64), "global_dtype"),
    (lambda: torch.use_deterministic_algorithms(True), "global_deterministic"),
])
def test_a_moved_switch_is_seen_and_put_back(move, flag):
    flags = modules.Flags()
    assert flags.changed() == []
    move()
    assert flags.changed() == [flag]
    flags.apply()
    assert flags.changed() == []


@pytest.mark.skipif(not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="an older torch")
@pytest.mark.parametrize("move", [
    lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
    lambda: setattr(torch.backends.cudnn.conv, "fp32_precision", "ieee"),
    lambda: setattr(torch.backends, "fp32_precision", "tf32"),
])
def test_the_newer_switches_are_seen_too_although_reading_the_old_ones_may_raise(move):
    flags = modules.Flags()
    move()
    assert flags.changed() == ["global_precision"]
    flags.apply()
    assert flags.changed() == []


def test_policies():
    own = modules.Flags()
    for precision, expected in (("default", (False, True)), ("ieee", (False, False)), ("tf32", (True, True))):
        own.under(precision).apply()
        assert tf32() == expected, precision
        assert own.under(precision).changed() == []


def test_a_task_says_its_precision_and_a_request_overrules_it(loaded):
    assert loaded().precision == "default"
    assert loaded('PRECISION = "ieee"').precision == "ieee"
    strict = loaded('PRECISION = "tf32"', "ieee")
    assert strict.precision == "ieee" and strict.tolerance(torch.float32) == 1e-4
    strict.flags.apply()
    assert tf32() == (False, False)
    with pytest.raises(ValueError, match="PRECISION is 'fp8'; there are default, ieee, tf32"):
        loaded('PRECISION = "fp8"')


def test_one_task_does_not_change_the_next(loaded):
    first = loaded('torch.backends.cuda.matmul.allow_tf32 = True\ntorch.set_float32_matmul_precision("medium")')
    second = loaded()
    second.flags.apply()
    assert tf32() == (False, True) and torch.get_float32_matmul_precision() == "highest"
    first.flags.apply()
    assert torch.get_float32_matmul_precision() == "medium"


def test_tf32_widens_the_tolerance_of_float32_alone(loaded):
    admitted = loaded('PRECISION = "tf32"')
    assert admitted.tolerance(torch.float32) == 2e-3
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int64):
        assert admitted.tolerance(dtype) == compare.tolerance(dtype)
    x = torch.randn(64, 64, dtype=torch.float64)
    near = (x * (1 + 1e-3)).float()
    known = compare.EagerError()
    assert not compare.compare(near, x.float(), x, known)["passed"]
    assert compare.compare(near, x.float(), x, known, "tf32")["passed"]
