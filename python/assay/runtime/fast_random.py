"""torch.rand and torch.randn at the speed of memory, for the inputs of a task on a GPU.

A round of timing needs dozens of fresh inputs while nothing else may use the device, and torch's
generator takes three times as long as writing its numbers does. Here a Philox-4x32-10 counter
(Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3) keyed by the hidden
seed gives four numbers a step; normals come from pairs by Box and Muller's transform.
"""

import torch
import triton
import triton.language as tl
from torch.overrides import TorchFunctionMode
from triton.language.extra import libdevice

BLOCK = 1024  # counters of a program; four numbers each
SMALL = 1 << 16  # elements below which torch's own launch is as quick
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
KEY_BITS = 62  # with the bit above them set, every key has one integer type in the kernel's signature


@triton.jit
def _uniform(bits, BELOW_ONE: tl.constexpr):
    return tl.minimum((bits >> 8).to(tl.float32) * 5.9604644775390625e-8, BELOW_ONE)


@triton.jit
def _normals(a, b):
    # (0, 1]: the logarithm is finite, and the largest normal is 6.7.
    radius = tl.sqrt(-2.0 * libdevice.fast_logf(a.to(tl.float32) * 2.3283064365386963e-10 + 1.1641532182693481e-10))
    angle = b.to(tl.float32) * 1.4629180792671596e-9 - 3.141592653589793
    return radius * libdevice.fast_cosf(angle), radius * libdevice.fast_sinf(angle)


@triton.jit(do_not_specialize=["key", "stream", "n"])
def _draw(out_ptr, key, stream, n, NORMAL: tl.constexpr, BELOW_ONE: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    counter = program * BLOCK + lane
    low = counter.to(tl.uint32)
    zero = low * 0
    a, b, c, d = tl.philox(key, low, (counter >> 32).to(tl.uint32), zero + stream.to(tl.uint32), zero)
    if NORMAL:
        a, b = _normals(a, b)
        c, d = _normals(c, d)
    else:
        a, b = _uniform(a, BELOW_ONE), _uniform(b, BELOW_ONE)
        c, d = _uniform(c, BELOW_ONE), _uniform(d, BELOW_ONE)
    at = program * (4 * BLOCK) + lane
    tl.store(out_ptr + at, a, mask=at < n)
    tl.store(out_ptr + at + BLOCK, b, mask=at + BLOCK < n)
    tl.store(out_ptr + at + 2 * BLOCK, c, mask=at + 2 * BLOCK < n)
    tl.store(out_ptr + at + 3 * BLOCK, d, mask=at + 3 * BLOCK < n)


def fill(out: torch.Tensor, seed: int, stream: int, normal: bool) -> None:
    """Standard normals, or uniform numbers of [0, 1), into a contiguous tensor of one of DTYPES.
    ``stream`` tells apart what is drawn under one seed."""
    below_one = 1.0 - torch.finfo(out.dtype).eps / 2  # a narrow type would round to one
    key = (seed & ((1 << KEY_BITS) - 1)) | (1 << KEY_BITS)
    n = out.numel()
    _draw[(triton.cdiv(n, 4 * BLOCK),)](out, key, stream, n, NORMAL=normal, BELOW_ONE=below_one, BLOCK=BLOCK)


class FastRandom(TorchFunctionMode):
    """While it is entered, large torch.rand, randn, rand_like and randn_like come from ``fill``.
    All else, and every call with a generator or an unusual option, stays torch's."""

    NORMAL = {torch.rand: False, torch.rand_like: False, torch.randn: True, torch.randn_like: True}
    OPTIONS = {"size", "dtype", "device", "requires_grad"}

    def __init__(self, device: str, seed: int):
        super().__init__()
        self.device = torch.device(device)
        self.seed = seed
        self.streams = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.NORMAL and kwargs.keys() <= self.OPTIONS:
            out = self._empty(func, args, dict(kwargs))
            if out is not None:
                fill(out, self.seed, self.streams, self.NORMAL[func])
                self.streams += 1
                return out.requires_grad_() if kwargs.get("requires_grad") else out
        return func(*args, **kwargs)

    def _empty(self, func, args: tuple, kwargs: dict) -> torch.Tensor | None:
        """What is to be filled; None where torch shall draw."""
        kwargs.pop("requires_grad", None)
        if func in (torch.rand_like, torch.randn_like):
            like = args[0] if len(args) == 1 and isinstance(args[0], torch.Tensor) else None
            if like is None or not like.is_contiguous() or not like.is_cuda or "size" in kwargs:
                return None
            size, dtype, device = like.shape, kwargs.get("dtype") or like.dtype, kwargs.get("device") or like.device
        else:
            size = kwargs.pop("size", args)
            if len(size) == 1 and not isinstance(size[0], int):
                size = size[0]
            dtype = kwargs.get("dtype") or torch.get_default_dtype()
            device = kwargs.get("device") or self.device
        device = torch.device(device)
        if device.type != "cuda" or device.index not in (None, 0) or dtype not in DTYPES:
            return None
        if not all(type(n) is int and n >= 0 for n in size) or torch.Size(size).numel() < SMALL:
            return None
        return torch.empty(size, dtype=dtype, device=device)


def warm() -> None:
    """Compiles the kernels for the usual types, so that no first draw has to."""
    for dtype in DTYPES:
        for normal in (False, True):
            fill(torch.empty(8192, dtype=dtype, device="cuda"), 1, 0, normal)
