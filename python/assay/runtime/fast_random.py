"""torch.rand and torch.randn for the inputs of a task on a GPU, many draws at a time.

A round of timing needs up to a hundred fresh inputs while nothing else may use the device. Called
once for each, get_inputs() costs 0.1 ms of Python a time; most tasks only ever return what torch.rand
and torch.randn made, and then one launch writes a tensor of all inputs. Both ways give the same numbers:
a Philox-4x32-10 counter (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
section 3.3) keyed by the hidden seed, four numbers a step; normals by Box and Muller's transform.
"""

import torch
import triton
import triton.language as tl
from torch.overrides import TorchFunctionMode
from triton.language.extra import libdevice

BLOCK = 1024  # counters of a program; four numbers each
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


@triton.jit(do_not_specialize=["stream", "stride"])
def _draw(out_ptr, keys_ptr, stride, stream, n, NORMAL: tl.constexpr, BELOW_ONE: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    out_ptr += tl.program_id(1).to(tl.int64) * stride
    key = tl.load(keys_ptr + tl.program_id(1))
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


@triton.jit
def _exp2_of_size(values_ptr, n, less, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    size = tl.exp2(tl.abs(value) - less)
    tl.store(values_ptr + at, tl.where(value < 0, -size, size), mask=at < n)


def exp2_of_size_(values: torch.Tensor, less: float) -> torch.Tensor:
    """2^(|v| - ``less``) with the sign of v in place of each v of a dense tensor of one of DTYPES."""
    n = values.numel()
    _exp2_of_size[(triton.cdiv(n, BLOCK),)](values, n, less, BLOCK=BLOCK)
    return values


def keys(seeds: list[int]) -> torch.Tensor:
    """The kernel's keys of some seeds, on the device."""
    values = [(seed & ((1 << KEY_BITS) - 1)) | (1 << KEY_BITS) for seed in seeds]
    return torch.tensor(values, dtype=torch.int64).cuda()


def fill(first: torch.Tensor, stride: int, keys: torch.Tensor, stream: int, normal: bool) -> None:
    """Standard normals, or uniform numbers of [0, 1), for one key each into tensors like ``first``
    (contiguous, of one of DTYPES) that stand ``stride`` elements apart. ``stream`` tells apart what is
    drawn under one key."""
    below_one = 1.0 - torch.finfo(first.dtype).eps / 2  # a narrow type would round to one
    n = first.numel()
    grid = (triton.cdiv(n, 4 * BLOCK), keys.numel())
    _draw[grid](first, keys, stride, stream, n, NORMAL=normal, BELOW_ONE=below_one, BLOCK=BLOCK)


class FastRandom(TorchFunctionMode):
    """While it is entered, torch.rand, randn, rand_like and randn_like come from ``fill``. All else, and
    every call with a generator or an unusual option, stays torch's.

    Attributes: made, what was drawn, as (tensor, whether normal); others, calls of torch beside those."""

    NORMAL = {torch.rand: False, torch.rand_like: False, torch.randn: True, torch.randn_like: True}
    OPTIONS = {"size", "dtype", "device", "requires_grad"}

    def __init__(self, device: str, seed: int):
        super().__init__()
        self.device = torch.device(device)
        self.seed = seed
        self.keys: torch.Tensor | None = None
        self.made: list[tuple[torch.Tensor, bool]] = []
        self.others = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = self._empty(func, args, dict(kwargs)) if func in self.NORMAL and kwargs.keys() <= self.OPTIONS else None
        if out is None:
            self.others += 1
            return func(*args, **kwargs)
        if self.keys is None:
            self.keys = keys([self.seed])
        fill(out, 0, self.keys, len(self.made), self.NORMAL[func])
        self.made.append((out, self.NORMAL[func]))
        return out.requires_grad_() if kwargs.get("requires_grad") else out

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
        if not all(type(n) is int and n > 0 for n in size):
            return None
        return torch.empty(size, dtype=dtype, device=device)

    def recipe(self, tensors: list[torch.Tensor]) -> list[bool] | None:
        """Whether each of ``tensors``, which are all that was asked of torch, is normal; None where
        they are anything else than plain draws."""
        if self.others or len(self.made) != len(tensors):
            return None
        if any(tensor is not made for tensor, (made, _) in zip(tensors, self.made)):
            return None
        return [normal for _, normal in self.made]


def warm() -> None:
    """Compiles the kernels for the most usual type, so that no first draw has to."""
    key = keys([1])
    for normal in (False, True):
        fill(torch.empty(8192, device="cuda"), 0, key, 0, normal)
