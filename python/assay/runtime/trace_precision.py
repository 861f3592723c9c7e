"""In which precisions a task's fp32 matrix work passes the numeric rule: the roofline's ladder.

A precision is admitted when the reference, with the operands of every matrix operator rounded to it
and sums in fp32, passes on every draw of inputs. Splitting fp32 into three TF32 products is accurate
enough wherever fp32 is and is not tried.
"""

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from . import compare, tree
from .trace_ops import ATTENTIONS, CONVOLUTIONS, MATMULS, RECURRENT, name_of

MATRIX = {*MATMULS, *CONVOLUTIONS, *ATTENTIONS, *RECURRENT}


def _tf32(x: torch.Tensor) -> torch.Tensor:
    """To ten bits of mantissa, to nearest."""
    bits = x.contiguous().view(torch.int32)
    return torch.where(x.isfinite(), ((bits + 0x1000) & ~0x1FFF).view(torch.float32), x)


def _bf16x2(x: torch.Tensor) -> torch.Tensor:
    high = x.bfloat16().float()
    return high + (x - high).bfloat16().float()


ROUNDINGS = {
    "tf32": _tf32,
    "bf16x3": _bf16x2,
    "bf16": lambda x: x.bfloat16().float(),
    "fp16": lambda x: x.half().float(),
}


class Rounded(TorchDispatchMode):
    """Rounds the fp32 operands of matrix operators."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # as trace_work.Recorder

    def __init__(self, precision: str):
        super().__init__()
        self.round = ROUNDINGS[precision]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if name_of(func) in MATRIX:
            args, kwargs = pytree.tree_map_only(
                torch.Tensor, lambda t: self.round(t) if t.dtype == torch.float32 else t, (args, kwargs))
        return func(*args, **kwargs)


def applies(work: dict) -> bool:
    """Whether there is fp32 matrix work at all, in an ``assay.work/1`` report."""
    return any(row["class"] == "matrix" and row["dtype"] == "float32" for row in work["ops"])


def admitted(model, draws: list[list], expected, known: list[compare.EagerError]) -> list[str]:
    """Names of the admitted precisions.

    ``expected(inputs)`` gives the flat lists (eager outputs, float64 outputs or None), ``known`` the
    eager errors of the outputs, as the judge holds them. The model must not write its inputs."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    references = [expected(inputs) for inputs in draws]
    matmul.allow_tf32 = cudnn.allow_tf32 = False  # only the operands are short
    try:
        return [precision for precision in ROUNDINGS
                if all(_passes(model, inputs, *reference, known, precision)
                       for inputs, reference in zip(draws, references))]
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def _passes(model, inputs, eager, exact, known, precision) -> bool:
    with torch.no_grad(), Rounded(precision):
        outputs = tree.flatten(model(*inputs))[1]
    return all(
        compare.compare(y, e, exact[i] if exact is not None and e.dtype.is_floating_point else None, known[i])["passed"]
        for i, (y, e) in enumerate(zip(outputs, eager)))
