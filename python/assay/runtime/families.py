"""Input families: what else a task's inputs may hold.

A task draws its inputs from one distribution, often U[0, 1). There a ReLU is the identity, means are
known in advance and rounded products look exact. Trials therefore also use

    signed   uniform inputs stretched to [-4, 4), normal ones doubled
    scaled   magnitudes 2^u with u uniform in [-6, 6), signs at random
    rare     the task's own draws, but for up to 32 elements at secret places: some of each magnitude
             that scaled ones have, with both signs

in place of the task's own draws, which are ``native``. Only plain random floating inputs are replaced:
integers, masks, probabilities and constants stay as they are. Which families a task admits is tried
with its reference (``admits``): where a logarithm or a product over a thousand factors leaves the
numbers, that family is no question to ask.

A sample of the inputs tells the others from the task's own; what is rare is found by reading everything.
So in timed rounds, which use the task's own inputs, some of the calls are rare, and half of those verified.
"""

import torch

try:
    from . import fast_random
except ImportError:  # no Triton here: the same family by tensor operations
    fast_random = None

NATIVE, SIGNED, SCALED, RARE = "native", "signed", "scaled", "rare"
OTHERS = (RARE, SIGNED, SCALED)
RARE_ELEMENTS = 32  # of a tensor, or one of 16
SAMPLE = 1 << 16  # elements that a distribution is told by
LEAST = 256  # with fewer it cannot be told
DISTINCT = 32  # fewer different values are a mask, a label or a choice
EXPONENT = 6.0
GROWTH = 2.0**20  # of the largest output: a product over many factors is near the largest numbers then


def kind_of(tensor: torch.Tensor) -> str:
    """"uniform" for U[0, 1), "normal" for N(0, s), "fixed" for everything that stays as it is."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize < 2 or tensor.numel() < LEAST or _overlaps(tensor):
        return "fixed"
    flat = tensor.reshape(-1)
    sample = flat[:: max(1, flat.numel() // SAMPLE)].double()
    low, high, mean, spread = torch.stack([sample.min(), sample.max(), sample.mean(), sample.std()]).tolist()
    if not low < high or spread != spread or torch.unique(sample[:4096]).numel() < min(DISTINCT, sample.numel() // 4):
        return "fixed"
    doubt = 4 / len(sample) ** 0.5
    if low >= 0 and high <= 1 and abs(mean - 0.5) < doubt and abs(spread - 12**-0.5) < doubt:
        return "uniform"
    near = float(((sample - mean).abs() < spread).double().mean())
    if low < 0 < high and abs(mean) < doubt * spread and abs(near - 0.6827) < doubt:
        return "normal"
    return "fixed"


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether elements may share memory, so that not each can have a value of its own."""
    reach = 0
    for step, size in sorted((step, size) for size, step in zip(tensor.shape, tensor.stride()) if size > 1):
        if step <= reach:
            return True
        reach += step * (size - 1)
    return False


def kinds_of(tensors: list[torch.Tensor]) -> list[str]:
    """The kind of each input; inputs that share memory stay as they are."""
    places = [t.untyped_storage().data_ptr() for t in tensors]
    return [kind_of(t) if places.count(place) == 1 else "fixed" for t, place in zip(tensors, places)]


def transform(kinds: list[str], tensors: list[torch.Tensor], family: str) -> list[torch.Tensor]:
    """The inputs of another family, from native ones. New tensors, with the same strides; draws go on
    from torch's generators, so that equal seeds give equal inputs."""
    return [t if kind == "fixed" else _transformed(kind, t, family) for kind, t in zip(kinds, tensors)]


def _transformed(kind: str, tensor: torch.Tensor, family: str) -> torch.Tensor:
    # Tensors may be gigabytes: as few passes as can be.
    if family == SIGNED:
        return torch.add(torch.tensor(-4.0), tensor, alpha=8) if kind == "uniform" else tensor * 2
    drawn = torch.empty_like(tensor).uniform_(-2 * EXPONENT, 2 * EXPONENT)
    if drawn.is_cuda and fast_random is not None and drawn.dtype in fast_random.DTYPES:
        return fast_random.exp2_of_size_(drawn, EXPONENT)
    return drawn.abs().sub_(EXPONENT).exp2_().copysign_(drawn)


def _mixed(numbers: torch.Tensor) -> torch.Tensor:
    """SplitMix64's finalizer (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
    2014, figure 16) of int64 numbers, taken as unsigned."""
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
        numbers = (numbers ^ ((numbers >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return numbers ^ ((numbers >> 31) & ((1 << 33) - 1))


def _rare_elements(count: int, part: int, seeds: list[int], stream: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Places (int64) and values (float64), a row for each seed: a place in each of ``count`` parts of
    ``part`` elements, and values as scaled ones have, one of each sign in each of count / 2 ranges, in
    random order. ``stream`` tells apart what is drawn from one seed."""
    lanes = torch.arange(3 * count) + stream * (1 << 32)
    drawn = _mixed(_mixed(torch.tensor(seeds, dtype=torch.int64))[:, None] + lanes)
    where, order, size = drawn.reshape(len(seeds), 3, count).unbind(1)
    places = torch.arange(0, count * part, part) + (where >> 1 & (1 << 62) - 1) % part
    order = order.argsort(1)
    exponents = (order // 2 + (size & (1 << 52) - 1).double() / (1 << 52)) * (2 * EXPONENT / -(-count // 2)) - EXPONENT
    return places, exponents.exp2() * (1 - 2 * (order % 2))


def _memory_offsets(tensor: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """How many elements behind the first one those stand that come at ``places`` in order of indices."""
    offsets = torch.zeros_like(places)
    for size, step in zip(reversed(tensor.shape), reversed(tensor.stride())):
        offsets += places % size * step
        places = places // size
    return offsets


def make_rare(kinds: list[str], tensors: list[torch.Tensor], seeds: list[int], bases: tuple[int, ...] = (0,)) -> None:
    """Writes values of all sizes to a few places of each plain random input; both follow from the seed.
    For each seed there is one of ``bases``: so many bytes behind ``tensors`` stand those it is for, in the
    same memory. Computed on the host, for all seeds at once: a round of timing waits for it."""
    for stream, (kind, tensor) in enumerate(zip(kinds, tensors)):
        if kind == "fixed":
            continue
        count = min(RARE_ELEMENTS, tensor.numel() // 16)
        places, values = _rare_elements(count, tensor.numel() // count, seeds, stream)
        offsets = _memory_offsets(tensor, places)
        offsets += torch.tensor(bases)[:, None] // tensor.element_size()
        flat = tensor.as_strided((int(offsets.max()) + 1,), (1,))
        flat[offsets.reshape(-1).to(tensor.device)] = values.reshape(-1).to(tensor.dtype).to(tensor.device)


def admits(native: list[torch.Tensor], other: list[torch.Tensor], family: str = SCALED) -> bool:
    """Whether a reference's outputs on another family still are something to compare: finite where the
    native ones are on the whole (of what is rare, everywhere), far from the largest numbers, and not all
    the same where those vary."""
    fewer = 0.0 if family == RARE else 1e-3
    for a, b in zip(native, other):
        if not a.is_floating_point() or a.numel() == 0:
            continue
        if _finite_share(b) < _finite_share(a) - fewer:
            return False
        if _varies(a) and not _varies(b):
            return False
        if _largest(b) > GROWTH * max(1.0, _largest(a)):
            return False
    return True


def _finite_share(tensor: torch.Tensor) -> float:
    return float(torch.isfinite(tensor.float() if tensor.dtype.itemsize == 1 else tensor).sum()) / tensor.numel()


def _largest(tensor: torch.Tensor) -> float:
    tensor = tensor.float() if tensor.dtype.itemsize == 1 else tensor
    return float(torch.where(torch.isfinite(tensor), tensor.abs(), torch.zeros_like(tensor.abs())).max())


def _varies(tensor: torch.Tensor) -> bool:
    flat = tensor.reshape(-1).float() if tensor.dtype.itemsize < 4 else tensor.reshape(-1)
    return flat.numel() > 1 and bool(flat.max() > flat.min())
