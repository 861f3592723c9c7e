"""Which shorter precisions pass the numeric rule: what the ladder may use."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from assay.runtime import compare, trace_work  # noqa: E402
from assay.runtime.trace_precision import ROUNDINGS, admitted, applies  # noqa: E402


def names(model, *inputs):
    def expected(given):
        return [model(*given)], [model(*(t.double() for t in given))]

    return admitted(model, [list(inputs)], expected, [compare.EagerError()])


def test_tf32_rounds_to_ten_bits():
    x = torch.randn(1000)
    error = (ROUNDINGS["tf32"](x) - x).abs() / x.abs()
    assert 2**-12 < error.max() <= 2**-11
    special = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), 1.0])
    assert torch.equal(ROUNDINGS["tf32"](special), special)
    assert ROUNDINGS["tf32"](torch.tensor([float("nan")])).isnan().all()


def test_signed_operands_refuse_what_positive_ones_hide():
    torch.manual_seed(0)
    a, b = torch.randn(128, 1024), torch.randn(1024, 128)
    assert names(torch.mm, a, b) == []
    short = names(torch.mm, a[:, :8].contiguous(), b[:8].contiguous())
    assert "bf16x3" in short and "tf32" not in short
    assert "tf32" in names(torch.mm, a.abs(), b.abs())


def test_small_integers_are_exact_in_every_precision():
    a, b = (torch.randint(-4, 5, (64, 64)).float() for _ in range(2))
    assert names(torch.mm, a, b) == list(ROUNDINGS)


def test_overflow_refuses_fp16():
    a = torch.full((32, 32), 2.0**17)
    assert "fp16" not in names(torch.mm, a, torch.eye(32))


def test_flags_of_torch_are_put_back():
    torch.backends.cudnn.allow_tf32 = True
    names(torch.mm, torch.randn(8, 8), torch.randn(8, 8))
    assert torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize("dtype, wanted", [(torch.float32, True), (torch.bfloat16, False)])
def test_only_fp32_products_have_a_ladder(dtype, wanted):
    inputs = [torch.randn(16, 16).to(dtype) for _ in range(2)]
    assert applies(trace_work.trace(torch.mm, inputs)) is wanted
    assert not applies(trace_work.trace(torch.relu, inputs[:1]))
