"""The numeric rule: is a candidate's output right?

``y`` is the candidate's output, ``e`` the reference's own (eager) output and ``x`` the reference
evaluated in float64. An element's error is measured in units of its allowance,

    r(y) = |y - x| / (tol * s + tol * |x| + 32 eps * rms(x)),   s = min(1, rms(x)),

so that small outputs are not drowned by an absolute tolerance, and where large ones cancel, the rounding
of float32 sums (a hundred times less than TF32's) is no error. The output passes when

    max r(y) <= max(1, 2 * max r(e))                      never stricter than twice eager's error
    ||y - x|| <= max(5 * tol * ||x - mean(x)||, 2 * ||e - x||)   a constant cannot pass

and NaN and infinities stand exactly where the reference has them. Integers and booleans are exact.
An element may also be off by twelve times eager's own root mean square error: where sums cancel, two honest
orders of summation differ by more than twice in their worst element, but not in that. Of outputs narrower
than float32, where that error is the last rounding's, by eight times, and beside float64 only.
Where float64 is too slow or too large to run every time, ``x`` is ``e`` and the allowances for
eager's error come from an earlier run (EagerError), three times instead of twice and 18 instead of
twelve because both sides may err. Everything runs in chunks, so that outputs of several gigabytes need little memory.
"""

import math
from dataclasses import dataclass

import torch

try:
    from . import fused_compare
except ImportError:  # no Triton here: the same figures by tensor operations
    fused_compare = None

CHUNK = 1 << 24  # elements compared at once: 128 MiB in float64

TOLERANCE = {
    torch.float64: 1e-7,
    torch.float32: 1e-4,
    torch.complex128: 1e-7,
    torch.complex64: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 1e-2,
}
FP8_TOLERANCE = 5e-2
TF32_TOLERANCE = 2e-3  # of float32, for tasks that admit TF32
ROUNDINGS = 32.0  # in the last place of a typical output
WELL_WITHIN = 0.25  # of the rule: so far from it that no other order of summation fails it
STEADY = 2.5  # between the draws of a family
TYPICAL = 12.0  # times eager's root mean square error, that an element may be off by
TYPICAL_NARROW = 8.0
OUTLIER = 12.0  # root mean squares: more than the largest of a billion normal errors is
SCATTERED = "a few scattered elements are wrong"
DIVERGED = 0.1  # of the spread: no rounding error of eager's is that large


def tolerance(dtype: torch.dtype, precision: str = "default") -> float:
    """Relative and absolute tolerance of a dtype; 0 for exact ones. ``precision``: the task's policy."""
    if precision == "tf32" and dtype in (torch.float32, torch.complex64):
        return TF32_TOLERANCE
    if dtype in TOLERANCE:
        return TOLERANCE[dtype]
    return FP8_TOLERANCE if dtype.is_floating_point else 0.0


@dataclass
class EagerError:
    """How far eager itself is from float64: worst r(e), in units of the rule, ||e - x|| / ||x - mean(x)||
    and rms(e - x) / rms(x)."""

    worst: float = 0.0
    norm: float = 0.0
    typical: float = 0.0
    measured: bool = False  # at all

    def include(self, other: "EagerError") -> None:
        self.worst, self.norm = max(self.worst, other.worst), max(self.norm, other.norm)
        self.typical = max(self.typical, other.typical)
        self.measured |= other.measured


def compare(
    y: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor | None, known: EagerError, precision: str = "default"
) -> dict:
    """Compares one output with the float64 reference ``exact``, or with ``eager`` where that is None.

    All have one shape. ``known`` is updated when ``exact`` is given and used when it is not.
    Returns {passed, max_abs_err, max_rel_err, mismatches, total, first_bad, got, expected, pattern}, and
    with ``exact`` the bits that agree with it: ``bits`` of y, ``reference_bits`` of eager.
    """
    measured = exact is not None
    exact = exact if measured else eager
    tol = tolerance(y.dtype, precision)
    if y.numel() == 0:
        return _report(True, 0.0, 0.0, 0, 0, None, None, None, "")
    if tol == 0.0:
        return _compare_exact(y, eager)
    if y.is_complex():
        y, eager, exact = (torch.view_as_real(t.resolve_conj()) for t in (y, eager, exact))
    narrow = y.dtype.itemsize < 4
    if y.dtype.itemsize == 1:  # float8 has hardly any operations
        y, eager, exact = y.float(), eager.float(), exact.double()
    shape = y.shape
    y, eager, exact = (t.reshape(-1) for t in (y, eager, exact))

    moments = _moments(exact)
    scale = tol * min(1.0, moments["rms"]) if moments["rms"] > 0 else tol
    if y.dtype.itemsize >= 4:
        scale += ROUNDINGS * torch.finfo(y.dtype).eps * moments["rms"]
    if _fusable(y):
        figures = fused_compare.errors(y, eager.contiguous(), exact.contiguous(), scale, tol)
    else:
        figures = _errors(y, eager, exact, scale, tol)
    worst, eager_worst, max_abs, max_rel, square, eager_square, misplaced = figures
    eager_alone = eager_worst
    slack = 2.0 if measured else 3.0
    limit = max(1.0, slack * (eager_worst if measured else known.worst))
    if worst > limit and misplaced == 0:
        typical = math.sqrt(eager_square / y.numel()) if measured else known.typical * moments["rms"]
        typical *= TYPICAL * slack / 2.0 if not narrow else TYPICAL_NARROW if measured else 0.0
        if typical > 0.1 * scale:
            scale += typical
            worst, eager_worst = _errors(y, eager, exact, scale, tol)[:2]
            limit = max(1.0, slack * eager_worst)  # eager is no further from itself
    spread = moments["spread"] if moments["spread"] > 0 else moments["norm"]
    if measured and math.sqrt(eager_square) > DIVERGED * spread > 0:
        # So far apart, the float64 reference is another function (it branches or draws otherwise).
        return compare(y.reshape(shape), eager.reshape(shape), None, known, precision)
    if measured:
        known.measured = True
        known.worst = max(known.worst, eager_alone)
        known.norm = max(known.norm, math.sqrt(eager_square) / spread if spread > 0 else 0.0)
        if moments["rms"] > 0:
            known.typical = max(known.typical, math.sqrt(eager_square / y.numel()) / moments["rms"])
    eager_norm = math.sqrt(eager_square) if measured else known.norm * spread
    norm_limit = max(5 * tol * spread, slack * eager_norm)
    elementwise = misplaced == 0 and worst <= limit
    passed = elementwise and (math.sqrt(square) <= norm_limit or spread == 0)
    agreement = {}
    if measured and moments["norm"] > 0 and misplaced == 0:
        agreement = {"bits": _bits(square, moments["norm"]), "reference_bits": _bits(eager_square, moments["norm"])}
    if passed:
        return {**_report(True, max_abs, max_rel, 0, y.numel(), None, None, None, ""), **agreement}
    bad = _mismatches(y, eager, exact, scale, tol, limit if not elementwise else 0.0)
    return {**_describe(bad, y, exact, shape, max_abs, max_rel), **agreement}


def well_conditioned(eager: torch.Tensor, exact: torch.Tensor, known: EagerError, precision: str = "default") -> bool:
    """Whether eager is either right by the rule itself, or wrong everywhere alike: then its root mean
    square tells what any honest order of summation does. Where a few elements hold all of the error
    (a softmax that has become a choice between two) no two honest programs agree. Fills ``known``."""
    if not compare(eager, eager, exact, known, precision)["passed"]:
        return False
    if known.worst <= 1.0 or eager.numel() == 0:
        return True
    error = torch.where(torch.isfinite(exact), eager.double() - exact, torch.zeros_like(exact)).abs()
    return float(error.max()) <= OUTLIER * float(error.square().mean().sqrt())


def steady(worst: list[float]) -> bool:
    """Whether eager's errors in several draws, in units of the rule, are well within it or alike. Rounding
    gives the same everywhere; errors with a long tail (a division by a mean that may be near zero) do not,
    and would refuse honest programs by chance."""
    return max(worst) <= WELL_WITHIN or max(worst) <= STEADY * min(worst)


def _bits(square: float, norm: float) -> float:
    """Leading bits in which values agree: 24 and a little of float32 rounded once, 53 at most."""
    relative = math.sqrt(square) / norm
    return min(53.0, max(0.0, -math.log2(relative))) if relative > 0 else 53.0


def kernelbench_tolerance(dtype: torch.dtype) -> float:
    """KernelBench's, absolute and relative alike."""
    return 1e-4 if dtype in (torch.float32, torch.float64) else 1e-2 if dtype.is_floating_point else 1e-4


def kernelbench(got: list[torch.Tensor], eager: list[torch.Tensor], tol: float | None = None) -> bool:
    """What KernelBench's check says: allclose with the reference as it runs, NaN equal to nothing.
    ``tol``: in place of the dtype's tolerance."""
    return all(_allclose(y.reshape(-1), e.reshape(-1), tol or kernelbench_tolerance(e.dtype)) for y, e in zip(got, eager))


def _allclose(y: torch.Tensor, e: torch.Tensor, tol: float) -> bool:
    if e.dtype == torch.bool:
        return torch.equal(y, e)
    if e.dtype.itemsize == 1 and e.is_floating_point():
        y, e = y.float(), e.float()
    if e.dtype == torch.float32 and _fusable(y) and _fusable(e):
        return fused_compare.beyond(y, e, tol) == 0
    return all(bool(torch.allclose(y[a:b], e[a:b], rtol=tol, atol=tol)) for a, b in _chunks(y.numel()))


def _compare_exact(y: torch.Tensor, reference: torch.Tensor) -> dict:
    shape = y.shape
    y, reference = y.reshape(-1), reference.reshape(-1)
    bad = y != reference
    if not bool(bad.any()):
        return _report(True, 0.0, 0.0, 0, y.numel(), None, None, None, "")
    difference = (y.double() - reference.double()).abs()
    relative = torch.where(reference != 0, difference / reference.double().abs(), torch.zeros_like(difference))
    return _describe(bad, y, reference, shape, float(difference.max()), float(relative.max()))


def _fusable(tensor: torch.Tensor) -> bool:
    return fused_compare is not None and tensor.is_cuda and tensor.dtype.itemsize >= 2 and tensor.is_contiguous()


def _errors(y, eager, exact, scale: float, tol: float) -> list[float]:
    """[max r(y), max r(e), max abs, max rel, sum of squared errors, the same of eager, misplaced]."""
    highest, sums = [0.0] * 4, [0.0] * 3
    for a, b in _chunks(y.numel()):
        cy, ce, cx = y[a:b].double(), eager[a:b].double(), exact[a:b].double()
        finite = torch.isfinite(cx)
        # Where float64 is finite but eager overflows, the dtype cannot hold the value: eager rules.
        overflow = finite & ~torch.isfinite(ce)
        same = torch.where(overflow | ~finite, _same_special(cy, torch.where(overflow, ce, cx)), torch.isfinite(cy))
        usable = finite & same & ~overflow
        zero = torch.zeros((), dtype=torch.float64, device=y.device)
        error = torch.where(usable, (cy - cx).abs(), zero)
        eager_error = torch.where(usable, (ce - cx).abs(), zero)
        allowance = scale + tol * torch.where(finite, cx.abs(), zero)
        relative = torch.where(usable & (cx != 0), error / cx.abs(), zero)
        part = [(error / allowance).max(), (eager_error / allowance).max(), error.max(), relative.max()]
        part += [error.square().sum(), eager_error.square().sum(), (~same).sum().double()]
        values = torch.stack(part).tolist()
        highest = [max(a, b) for a, b in zip(highest, values[:4])]
        sums = [a + b for a, b in zip(sums, values[4:])]
    return highest + sums


def _chunks(count: int):
    return ((a, min(a + CHUNK, count)) for a in range(0, count, CHUNK))


def _same_special(value: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.isnan(wanted), torch.isnan(value), value == wanted)


def _moments(exact: torch.Tensor) -> dict:
    """rms and norms over the finite elements: of x, and of x about its mean."""
    count, total, square = 0.0, 0.0, 0.0
    if _fusable(exact):
        count, total, square = fused_compare.moments(exact)
    else:
        for a, b in _chunks(exact.numel()):
            part = exact[a:b].double()
            finite = torch.isfinite(part)
            part = torch.where(finite, part, torch.zeros_like(part))
            figures = torch.stack([finite.sum().double(), part.sum(), part.square().sum()]).tolist()
            count, total, square = (old + new for old, new in zip((count, total, square), figures))
    if count == 0:
        return {"rms": 0.0, "norm": 0.0, "spread": 0.0}
    # Below 1e-7 of the norm the difference is rounding: such an output is a constant.
    centred = square - total * total / count
    spread = math.sqrt(centred) if centred > 1e-14 * square else 0.0
    return {"rms": math.sqrt(square / count), "norm": math.sqrt(square), "spread": spread}


def _mismatches(y, eager, exact, scale: float, tol: float, limit: float) -> torch.Tensor:
    """Which elements are wrong. ``limit`` 0: the norm failed, so count against the plain tolerance."""
    bad = torch.empty(y.numel(), dtype=torch.bool, device=y.device)
    for a, b in _chunks(y.numel()):
        cy, ce, cx = y[a:b].double(), eager[a:b].double(), exact[a:b].double()
        wanted = torch.where(torch.isfinite(cx) & ~torch.isfinite(ce), ce, cx)
        finite = torch.isfinite(wanted)
        ratio = (cy - wanted).abs() / (scale + tol * wanted.abs())
        within = ratio <= (limit if limit > 0 else 0.05)
        bad[a:b] = torch.where(finite, ~(within & torch.isfinite(cy)), ~_same_special(cy, wanted))
    return bad


def _describe(bad, y, expected, shape, max_abs: float, max_rel: float) -> dict:
    total = y.numel()
    count = int(bad.sum())
    if count == 0:  # every element is close, the whole is not: an error without a place
        return _report(False, max_abs, max_rel, 0, total, None, None, None, "systematic error in every element")
    first = int(torch.argmax(bad.to(torch.uint8)))
    index = _unravel(first, shape)
    got, want = float(y[first]), float(expected[first])
    return _report(
        False, max_abs, max_rel, count, total, index, got, want, _pattern(bad.reshape(shape), y, count, first)
    )


def _unravel(flat: int, shape: torch.Size) -> list[int]:
    """torch.unravel_index imports the symbolic compiler for it, three seconds."""
    index = []
    for size in reversed(shape):
        flat, rest = divmod(flat, size)
        index.append(rest)
    return index[::-1]


def _pattern(bad: torch.Tensor, y: torch.Tensor, count: int, first: int) -> str:
    """What the wrong elements have in common, in words a kernel author can use."""
    total = bad.numel()
    if y.is_floating_point() and not bool(torch.isfinite(y).all()):
        share = float((~torch.isfinite(y)).sum()) / total
        return f"NaN or infinity in {100 * share:.3g} % of the elements" + (
            ": parts of the output were never written" if share > 0.01 else ""
        )
    if not bool((y != 0).any()):
        return "all zeros"
    if count == total:
        return "every element is wrong"
    if count > 0.9 * total:
        return "nearly every element is wrong"
    if bad.dim() >= 2:
        columns = bad.reshape(-1, bad.shape[-1]).any(dim=0)
        start = int(torch.argmax(columns.to(torch.uint8)))
        if start > 0 and bool(columns[start:].all()) and columns.numel() - start <= columns.numel() // 2:
            return f"only the tail of the last dimension is wrong (from index {start} of {columns.numel()})"
    if first > total // 2 and bool(bad.reshape(-1)[first:].float().mean() > 0.9):
        return f"only the tail is wrong (from flat index {first} of {total})"
    if count <= max(8, total // 1000):
        return SCATTERED
    return "part of the elements is wrong"


def _report(passed, max_abs, max_rel, mismatches, total, first_bad, got, expected, pattern) -> dict:
    return {
        "passed": passed,
        "max_abs_err": max_abs if math.isfinite(max_abs) else 0.0,
        "max_rel_err": max_rel if math.isfinite(max_rel) else 0.0,
        "mismatches": mismatches,
        "total": total,
        "first_bad": first_bad,
        "got": _spelled(got),
        "expected": _spelled(expected),
        "pattern": pattern,
    }


def _spelled(value: float | None) -> float | str | None:
    """JSON has no NaN and no infinity."""
    return value if value is None or math.isfinite(value) else repr(value)
