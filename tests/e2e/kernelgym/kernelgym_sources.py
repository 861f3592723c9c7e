"""Sources that tests send: references, kernels, cases."""

REFERENCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super(Model, self).__init__()

    def forward(self, x):
        return torch.softmax(x, dim=-1)

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(16, 128, device='cuda')]
"""

TRITON_SOFTMAX = """
import torch
import triton
import triton.language as tl

@triton.jit
def softmax_rows(source, target, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < columns
    values = tl.load(source + row * columns + place, mask=inside, other=-float('inf'))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(target + row * columns + place, powers / tl.sum(powers, axis=0), mask=inside)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x):
        rows, columns = x.shape
        result = torch.empty_like(x)
        softmax_rows[(rows,)](x, result, columns, BLOCK=triton.next_power_of_2(columns))
        return result
"""

TRITON_ADD = """
import torch
import triton
import triton.language as tl

@triton.jit
def add(a, b, target, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    tl.store(target + place, tl.load(a + place, mask=inside) + tl.load(b + place, mask=inside), mask=inside)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        result = torch.empty_like(x)
        add[(triton.cdiv(x.numel(), 1024),)](x, y, result, x.numel(), BLOCK=1024)
        return result

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(1024, device='cuda'), torch.randn(1024, device='cuda')]

def get_cases():
    x = torch.randn(1024, device='cuda')
    y = torch.randn(1024, device='cuda')
    expected = x + y
    return [{"inputs": [x, y], "outputs": expected}]
"""


def submission(body: str, top: str = "") -> str:
    """A ModelNew whose forward(x) has this body (one statement)."""
    return f"""
import torch
{top}
class ModelNew(torch.nn.Module):
    def forward(self, x):
        {body}
"""


PLAIN = submission("return (x - x.amax(-1, keepdim=True)).exp() / (x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True)")
WRONG = submission("return torch.sigmoid(x)")
RAISES = submission("raise ZeroDivisionError('on purpose')")
CRASHES = submission("import ctypes; ctypes.string_at(0)")
ENDLESS = submission("\n        while True: pass")
SYNTAX = submission("return x +")
SLOW_TO_LOAD = submission("return torch.softmax(x, -1)", top="import time; time.sleep(3)")


def evaluation(task_id: str, kernel: str, **more) -> dict:
    return {"task_id": task_id, "reference_code": REFERENCE, "kernel_code": kernel, **more}
