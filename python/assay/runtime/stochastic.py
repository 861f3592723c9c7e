"""Outputs that are random: are a candidate's draws the reference's distribution?

A reference that draws random numbers in ``forward`` (dropout in train mode, bernoulli, multinomial)
has no one right output. A trial then calls the candidate many times on the same inputs and asks
whether its outputs could be further draws of the reference. The reference is drawn from as well: its
*basis* draws say, for each element, what that element is drawn from; its *null* draws and the
candidate's are then described alike, by figures of each draw against the basis:

    histogram    of the elements' ranks among their basis draws, ties within the tolerance halved. Right
                 are only values that follow, element by element, the distribution given the inputs
    alone        share of elements with no basis draw near: values that the reference never draws
    far          share, over the whole output, far outside of the basis draws' range, or not finite
    mean, spread of the elements' standard scores
    together     products of the scores of neighbours (along each dimension, and half of the output
                 apart): one choice for a whole channel is not one for each element
    distance     between two calls, and its products over neighbours; ``across``: the same products
                 over two outputs of one size, which must share their choices as the reference's do

If the candidate is right, null and candidate draws of a figure are exchangeable, and the exact
two-sample Kolmogorov-Smirnov test refuses one in ALPHA of the figures. About 25 of them in each of five
trials make one honest submission in 80 000 that is refused. A margin of the numeric tolerance is given
first. Beside that, calls must differ as the reference's do (``repeats``): one sample returned again, or
a few in turns, is no draw. A constant and the mean fail by every figure.

A timed round shows one draw on inputs of its own. There a figure of an honest submission lies outside of
all m null draws in one of m + 1 rounds on either side; too often is too often at ALPHA_SINGLES
(``Singles``; no single round decides, for a whole batch may be dropped at once. Both sides of about 25
figures are asked after every round: of honest submissions at most one in 12 000 is refused in twelve rounds,
one in 2 000 in four hundred; a smaller ALPHA_SINGLES would let a mean pass in every second of ten rounds). And its noise must not be
that of an earlier call (``Remembered``): a mask that was drawn once and is applied to every input is found
by its correlation.

What this cannot see: single wrong elements within the range of the draws; random choices that come back
only after more calls than are looked at; noise that is mixed by weights after it was drawn and comes back
on other inputs.
"""

import collections
import functools
import hashlib
import math

import torch

ALPHA = 1e-7  # chance that one figure of an honest submission is refused
ALPHA_SINGLES = 1e-6  # the same of one side of a figure after one timed round
SIGMAS = 10.0  # of a correlation between two calls
BINS = 8
CLIP = 8.0  # of a standard score: heavy tails would drown everything else
SAMPLE = {"cpu": 1 << 12, "cuda": 1 << 15}  # elements whose distribution is looked at
LAGS = 5
NEAR = 4.0  # tolerances: so near, two values are one draw
MARGIN = 1e-3  # of a share: rounding moves a few elements over a border
FEW_ELEMENTS = 1 << 11  # fewer say less each time; they are drawn twice as often
SLOW_US = 50e3  # a slower reference is drawn from less often
HUGE = 1e30
REMEMBERED = 32  # calls whose noise is kept, of the first and of the latest


def draw_counts(elements: int, reference_us: float) -> tuple[int, int, int]:
    """How often a trial draws: (basis, null, candidate)."""
    if reference_us > SLOW_US:
        return 12, 24, 12
    return (64, 96, 48) if elements < FEW_ELEMENTS else (32, 48, 24)


def timed_counts(reference_us: float) -> tuple[int, int]:
    """(basis, null) draws for one output of a timed round."""
    return (8, 24) if reference_us > SLOW_US else (16, 48)


def seeds_of(seed: int, purpose: str, count: int) -> list[int]:
    """Seeds of the reference's draws, from the hidden seed of the inputs."""
    texts = (f"{purpose}|{seed}|{i}".encode() for i in range(count))
    return [int.from_bytes(hashlib.sha256(text).digest()[:7], "little") for text in texts]


class Positions:
    """The elements of one output that are looked at, fixed for a submission, and their neighbours."""

    def __init__(self, shape, seed: int, device: str):
        self.numel = math.prod(shape)
        random = torch.Generator("cpu").manual_seed(seed)
        size = SAMPLE["cpu" if device == "cpu" else "cuda"]
        if self.numel <= size:
            index = torch.arange(self.numel)
        else:
            index = torch.randint(self.numel, (size,), generator=random)
        lags, stride = set(), 1
        for extent in reversed(shape):
            if extent > 1:
                lags.add(stride)
            stride *= extent
        lags.add(self.numel // 2)
        self.lags = sorted(lag for lag in lags if 0 < lag < self.numel)[-LAGS:]
        rows = [index, *((index + lag) % self.numel for lag in self.lags)]
        self.index = torch.stack(rows).to(device)

    def of(self, output: torch.Tensor) -> torch.Tensor:
        """[1 + lags, elements] in float64; what is not finite becomes huge."""
        flat = output.reshape(-1)
        values = (flat.float() if flat.dtype.itemsize == 1 and flat.is_floating_point() else flat)[self.index]
        return torch.nan_to_num(values.double(), nan=2 * HUGE, posinf=HUGE, neginf=-HUGE)


class Reference:
    """What the reference draws for one output on one set of inputs."""

    def __init__(self, positions: Positions, tolerance: float, eps: float):
        self.at = positions
        self.tolerance, self.eps = tolerance, eps
        self.draws: list[torch.Tensor] = []
        self.low = self.high = None  # over the whole output

    def add(self, output: torch.Tensor) -> None:
        """One basis draw."""
        self.draws.append(self.at.of(output))
        flat = _plain(output)
        if self.low is None:
            self.low, self.high = flat.clone(), flat.clone()
        else:
            torch.minimum(self.low, flat, out=self.low)
            torch.maximum(self.high, flat, out=self.high)

    def close(self) -> None:
        """No basis draw follows."""
        basis = torch.stack(self.draws)
        self.draws = []
        self.mean, self.deviation = basis.mean(0), basis.std(0)
        self.ordered = basis[:, 0].sort(0).values.T.contiguous()  # [elements, draws]
        rms = float(basis.square().mean().sqrt())
        scale = self.tolerance * min(1.0, rms) + 32 * self.eps * rms
        allowed = scale + self.tolerance * self.mean.abs()
        self.near = NEAR * allowed
        self.unit = torch.maximum(self.deviation, self.near).clamp_min(1e-300)
        # How far the tolerance alone may move a mean of scores.
        self.margin = float((allowed / self.unit).mean())
        # Low and high become the borders of what is far.
        room = 3 * (self.high - self.low) + 2 * NEAR * (scale + self.tolerance * self.high.abs().maximum(self.low.abs()))
        self.low, self.high = self.low - room, self.high + room

    def scores(self, y: torch.Tensor) -> torch.Tensor:
        return ((y - self.mean) / self.unit).clamp(-CLIP, CLIP)

    def far(self, output: torch.Tensor) -> torch.Tensor:
        flat = _plain(output)
        return ((flat < self.low) | (flat > self.high)).double().mean()

    def describe(self, draws: "Draws") -> dict[str, list[float]]:
        """Figures of each draw."""
        y, near = draws.values, self.near[0][:, None]
        first = y[:, 0].T.contiguous()  # [elements, draws]
        less = torch.searchsorted(self.ordered, first - near)
        upto = torch.searchsorted(self.ordered, first + near, right=True)
        rank = (less + upto).double() / (2 * self.ordered.shape[1])
        bins = (rank * BINS).long().clamp_max(BINS - 1)
        z = self.scores(y)
        figures = {"far": draws.far, "alone": (upto == less).double().mean(0)}
        figures |= {f"histogram {i}": (bins == i).double().mean(0) for i in range(BINS)}
        figures |= {"mean": z[:, 0].mean(1), "spread": z[:, 0].square().mean(1)}
        figures |= {f"together {lag}": (z[:, i] * z[:, 0]).mean(1) for i, lag in enumerate(self.at.lags, 1)}
        return _read(figures)

    def distances(self, draws: "Draws") -> torch.Tensor:
        """Of the first and second draw, the third and fourth, and so on. [pairs, 1 + lags, elements]"""
        return ((draws.values[0::2] - draws.values[1::2]).abs() / self.unit).clamp_max(CLIP)

    def compare(self, draws: "Draws") -> dict[str, list[float]]:
        """Figures of pairs of draws."""
        d = self.distances(draws)
        mean = d[:, 0].mean(1)
        centred = d - mean[:, None, None]
        figures = {"distance": mean}
        figures |= {
            f"distance together {lag}": (centred[:, i] * centred[:, 0]).mean(1) for i, lag in enumerate(self.at.lags, 1)
        }
        return _read(figures)

    def equals(self, draws: "Draws") -> tuple[int, int]:
        """(pairs of equal draws, draws that equal an earlier one)."""
        pairs, again = 0, 0
        for i in range(1, len(draws.values)):
            same = ((draws.values[:i, 0] - draws.values[i, 0]).abs() <= self.near[0]).all(1)
            found = int(same.sum())
            pairs, again = pairs + found, again + (found > 0)
        return pairs, again

    def margin_of(self, figure: str) -> float:
        """How far rounding alone may move a figure."""
        kind = figure.split(" ")[0]
        if kind in ("histogram", "alone"):
            return MARGIN
        return {"far": 0.0, "mean": self.margin}.get(kind, 2 * self.margin)

    def noise(self, y: torch.Tensor) -> torch.Tensor:
        """The draw's random choices in forms that other inputs share: which side of the mean a value is on,
        whether it is the larger in magnitude, whether it is far off. [3, elements], int8."""
        first, mean, near = y[0], self.mean[0], self.near[0]
        off = (self.scores(y)[0].abs() - 1) / 0.1 * near
        sides = [first - mean, first.abs() - mean.abs(), off]
        return torch.stack([torch.where(side.abs() <= near, 0, side.sign()) for side in sides]).to(torch.int8)


class Draws:
    """Draws of one output on the same inputs: ``values`` [draws, 1 + lags, elements], ``far`` [draws]."""

    def __init__(self, drawn: list[tuple[torch.Tensor, torch.Tensor]]):
        self.values = torch.stack([values for values, _ in drawn])
        self.far = torch.stack([far for _, far in drawn])


class Trial:
    """Draws of a candidate and of the reference on the same inputs, all outputs of a call."""

    def __init__(self, references: dict[int, Reference]):
        """``references``: closed, by output number."""
        self.references = references
        self.drawn: dict[bool, dict[int, list]] = {null: {k: [] for k in references} for null in (True, False)}

    def add(self, outputs: list[torch.Tensor], null: bool) -> None:
        """A draw of the reference (``null``) or of the candidate."""
        for k, reference in self.references.items():
            self.drawn[null][k].append((reference.at.of(outputs[k]), reference.far(outputs[k])))

    def draws(self, k: int) -> tuple[Draws, Draws]:
        """(null, candidate)."""
        return Draws(self.drawn[True][k]), Draws(self.drawn[False][k])

    def verdict(self) -> dict | None:
        """None when the candidate's draws may be the reference's, else {output, figure}."""
        all_draws = {k: self.draws(k) for k in self.references}
        for k, reference in self.references.items():
            null, own = all_draws[k]
            figure = "repeats" if _repeats(null, own, reference) else ""
            for describe in (reference.describe, reference.compare):
                figure = figure or _refused(describe(null), describe(own), reference)
            if figure:
                return refusal(k, figure)
        return self._across(all_draws)

    def _across(self, all_draws: dict[int, tuple[Draws, Draws]]) -> dict | None:
        numbers = list(self.references)
        for place, a in enumerate(numbers):
            for b in numbers[place + 1 :]:
                one, two = self.references[a], self.references[b]
                if one.at.numel != two.at.numel:
                    continue
                for shared in (_shared_scores, _shared_distances):
                    null, own = (shared(one, two, x, y) for x, y in zip(all_draws[a], all_draws[b]))
                    if figure := _refused(null, own, one):
                        return refusal(b, figure)
        return None


class Remembered:
    """The noise of a submission's earlier calls, on other inputs, and of the reference's draws there."""

    def __init__(self):
        self.first: list[tuple[torch.Tensor, list[torch.Tensor]]] = []
        self.latest: collections.deque = collections.deque(maxlen=REMEMBERED)

    def comes_back(self, reference: Reference, null: Draws, own: Draws) -> bool:
        """Whether the noise of the candidate's first draw is that of an earlier call. Keeps it for later
        ones."""
        noise = reference.noise(own.values[0])
        drawn = [reference.noise(y) for y in null.values[:8]]
        found = False
        for earlier, references in (*self.first, *self.latest):
            for side in range(len(noise)):
                chance = [_correlation(a[side], b[side]) for a in drawn for b in references]
                mean, deviation = _mean_and_deviation(chance)
                deviation = max(deviation, 1 / math.sqrt(noise.shape[1]))
                found = found or _correlation(noise[side], earlier[side]) > mean + SIGMAS * deviation
        (self.first if len(self.first) < REMEMBERED else self.latest).append((noise, drawn[:2]))
        return found


class Singles:
    """One output of calls that stand alone, each on inputs of its own, set against draws on those."""

    def __init__(self):
        self.calls = 0
        self.outermost: collections.Counter = collections.Counter()  # calls, by figure and side

    def add(self, reference: Reference, null: Draws, own: Draws) -> str:
        """The figure that lay outside of all null draws in too many calls; "" where none did."""
        self.calls += 1
        chance = 1 / (len(null.values) + 1)  # of being the outermost of all, if it is one of them
        expected, refused = reference.describe(null), ""
        for figure, (value,) in reference.describe(own).items():
            margin = reference.margin_of(figure)
            sides = {"above": value - margin > max(expected[figure]), "below": value + margin < min(expected[figure])}
            for side, outside in sides.items():
                self.outermost[figure, side] += outside
                if _at_least(self.outermost[figure, side], self.calls, chance) < ALPHA_SINGLES:
                    refused = refused or figure
        return refused


PATTERNS = {
    "repeats": "repeated calls on the same inputs return the same values; the reference draws new ones in every call",
    "histogram": "the random values are distributed otherwise than the reference's",
    "alone": "values that the reference never draws for these inputs",
    "far": "values far outside of what the reference draws, or not finite",
    "mean": "the random values have another mean than the reference's",
    "spread": "the random values vary more, or less, than the reference's",
    "together": "the randomness of neighbouring elements does not depend on each other as the reference's does",
    "distance": "calls on the same inputs differ more, or less, than the reference's do",
    "across": "two outputs do not share their random choices as the reference's do",
    "remembered": "the random choices of an earlier call come back on other inputs",
}


def pattern(figure: str) -> str:
    """A figure in words that a kernel author can use."""
    return PATTERNS["together" if "together" in figure else figure.split(" ")[0]]


def refusal(output: int, figure: str) -> dict:
    """How a trial says which output it refuses, and why."""
    return {"output": output, "figure": figure}


def _refused(expected: dict, told: dict, reference: Reference) -> str:
    """The first figure whose samples are not of one distribution."""
    for figure, samples in expected.items():
        if significance(samples, told[figure], reference.margin_of(figure)) < ALPHA:
            return figure
    return ""


def _shared_scores(one: Reference, two: Reference, x: Draws, y: Draws) -> dict[str, list[float]]:
    return _read({"across": (one.scores(x.values)[:, 0] * two.scores(y.values)[:, 0]).mean(1)})


def _shared_distances(one: Reference, two: Reference, x: Draws, y: Draws) -> dict[str, list[float]]:
    a, b = one.distances(x)[:, 0], two.distances(y)[:, 0]
    return _read({"across distance": ((a - a.mean(1, True)) * (b - b.mean(1, True))).mean(1)})


def _repeats(null: Draws, own: Draws, reference: Reference) -> bool:
    """Whether too many of a candidate's draws equal an earlier one of its own."""
    count = len(null.values)
    chance = (reference.equals(null)[0] + 3) / (count * (count - 1) / 2)  # of two draws, at the most
    others = len(own.values) - 1
    return _at_least(reference.equals(own)[1], others, min(1.0, others * chance)) < ALPHA


def _at_least(count: int, trials: int, chance: float) -> float:
    """P(X >= count) for a binomial X."""
    if count <= 0 or chance >= 1:
        return 1.0
    if chance <= 0:
        return 0.0

    def log_term(i: int) -> float:
        ways = math.lgamma(trials + 1) - math.lgamma(i + 1) - math.lgamma(trials - i + 1)
        return ways + i * math.log(chance) + (trials - i) * math.log1p(-chance)

    return min(1.0, sum(math.exp(log_term(i)) for i in range(count, trials + 1)))


def significance(expected: list[float], told: list[float], margin: float) -> float:
    """p of the two-sided test whether both are samples of one distribution, after ``told`` has been moved
    by ``margin`` towards ``expected``."""
    above = _excess(expected, [value - margin for value in told])
    below = _excess([-value for value in expected], [-value - margin for value in told])
    return 2 * min(_chance_of(len(expected), len(told), d) for d in (above, below))


def _excess(expected: list[float], told: list[float]) -> int:
    """How far ``told`` lies above: the largest F_expected - F_told, in units of 1 / (m n)."""
    m, n = len(expected), len(told)
    values = sorted([(value, 0) for value in expected] + [(value, 1) for value in told])
    seen, most = [0, 0], 0
    for place, (value, which) in enumerate(values):
        seen[which] += 1
        if place + 1 == len(values) or values[place + 1][0] != value:
            most = max(most, seen[0] * n - seen[1] * m)
    return most


@functools.lru_cache(maxsize=4096)
def _chance_of(m: int, n: int, excess: int) -> float:
    """P(some F_m - F_n >= excess / (m n)) when all orders of m + n values are equally likely: the share of
    lattice paths that reach that line. Exact to 1e-13."""
    if excess <= 0:
        return 1.0
    below = [0.0] * (n + 1)  # share of the paths to (i, j) that never reached the line
    for i in range(m + 1):
        for j in range(n + 1):
            if i * n - j * m >= excess:
                below[j] = 0.0
            elif i == 0 and j == 0:
                below[j] = 1.0
            else:
                # From (i - 1, j), whose share still stands in below[j], and from (i, j - 1).
                came = below[j] * i + (below[j - 1] * j if j > 0 else 0.0)
                below[j] = came / (i + j)
    return max(0.0, 1.0 - below[n])


def _read(figures: dict[str, torch.Tensor]) -> dict[str, list[float]]:
    """From the device, at once."""
    return dict(zip(figures, torch.stack(list(figures.values())).tolist()))


def _plain(output: torch.Tensor) -> torch.Tensor:
    """Flat, of a type that orders: what is not finite is beyond everything."""
    flat = output.reshape(-1)
    narrow = flat.is_floating_point() and flat.dtype != torch.float64
    return torch.nan_to_num(flat.float() if narrow else flat.double(), nan=2 * HUGE, posinf=HUGE, neginf=-HUGE)


def _correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.double() - a.double().mean(), b.double() - b.double().mean()
    norm = float(a.norm() * b.norm())
    return float((a * b).sum()) / norm if norm > 0 else 0.0


def _mean_and_deviation(values: list[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 0.0
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1))
