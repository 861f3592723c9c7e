"""Which part of an operator's inputs a needed part of its outputs rests on, for ``trace_work``.

A need is a mask that broadcasts to the value's shape, or only a share where the positions are not
known or a mask would be too large. Where in doubt it is less than the truth, never more: the bound
must hold for every correct program.
"""

import math
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .trace_ops import CONVOLUTIONS, MATMULS

MASK_LIMIT = 1 << 28  # elements of a mask
SECTOR = 32  # bytes that memory moves at least
POINTWISE = {"clone", "_to_copy", "copy", "copy_", "contiguous", "native_dropout", "masked_fill", "masked_fill_",
             "where", "_conj", "lift_fresh"}
SAME_ELEMENTS = {"view", "_unsafe_view", "reshape", "transpose", "permute", "t", "unsqueeze", "squeeze", "detach",
                 "alias", "numpy_T", "swapaxes", "movedim", "unflatten", "flatten", "view_as_real", "lift_fresh"}
ZERO_STAYS = {"relu", "neg", "_to_copy", "clone", "abs", "tanh", "sign", "gelu", "silu", "sin", "sqrt", "pow"}


@dataclass(eq=False)
class Need:
    mask: torch.Tensor | None
    share: float

    @staticmethod
    def of(mask: torch.Tensor) -> "Need":
        share = float(mask.double().mean()) if mask.numel() else 0.0
        return FULL if share == 1 else Need(mask, share)

    def union(self, other: "Need") -> "Need":
        if self is FULL or other is FULL or self.share == 1 or other.share == 1:
            return FULL
        if self.mask is not None and other.mask is not None:
            both = torch.broadcast_shapes(self.mask.shape, other.mask.shape)
            if math.prod(both) <= MASK_LIMIT:
                return Need.of(self.mask | other.mask)
        return self if self.share >= other.share else other  # the larger one alone is a bound

    def within(self, mask: torch.Tensor | None) -> "Need":
        """What is left of it where ``mask`` is True."""
        if mask is None:
            return self
        if self.mask is not None:
            return Need.of(self.mask & mask)
        return Need.of(mask) if self is FULL else Need(None, self.share * float(mask.double().mean()))


FULL = Need(None, 1.0)
NOTHING = Need(None, 0.0)


def triangle(shape, upper: bool, diagonal: int, device=None) -> torch.Tensor:
    rows = torch.arange(shape[-2], device=device).unsqueeze(1)
    cols = torch.arange(shape[-1], device=device)
    return cols - rows >= diagonal if upper else cols - rows <= diagonal


def sectors(value, need: Need) -> int:
    """Bytes of a leaf that is needed in part, in whole sectors where the positions are known."""
    item = value.dtype.itemsize
    if need.mask is None or value.numel > MASK_LIMIT:
        return int(value.bytes * need.share)
    per = max(SECTOR // item, 1)
    mask = need.mask.expand(value.shape).reshape(-1)
    if mask.numel() % per:
        mask = torch.nn.functional.pad(mask, (0, per - mask.numel() % per))
    return min(int(mask.view(-1, per).any(1).sum()) * per * item, value.bytes)


def _reduced(mask: torch.Tensor, shape) -> torch.Tensor:
    """A mask for an operand of ``shape`` that was broadcast to the mask's full shape."""
    while mask.ndim > len(shape):
        mask = mask.any(0)
    for d in range(1, mask.ndim + 1):
        if shape[-d] == 1 and mask.shape[-d] != 1:
            mask = mask.any(-d, keepdim=True)
    return mask


def needs_of_inputs(op, wanted: list) -> list[Need]:
    with _disable_current_modes():
        op.wanted = wanted[0]
        try:
            return _needs(op, wanted)
        except RuntimeError:  # a mask that does not fit where it was thought to
            return [Need(None, op.share)] * len(op.inputs)


def _needs(op, wanted: list) -> list[Need]:
    first = wanted[0] if wanted[0] is not None else NOTHING
    if op.kind == "view":
        return [_through_view(op, wanted)] + [FULL] * (len(op.inputs) - 1)
    if op.kind == "reload":
        whole = op.outputs[0].distinct >= op.inputs[0].distinct
        return [FULL if whole and first is FULL else
                Need(None, min(first.share * op.outputs[0].numel / max(op.inputs[0].numel, 1), 1.0))]
    if op.kind == "overlay":
        part = op.inputs[1].distinct / max(op.inputs[0].distinct, 1)
        return [Need(None, max(1 - part, 0.0) * first.share), first if first is FULL else Need(None, first.share)]
    if op.name in MATMULS:
        return _of_matmul(op, first)
    if op.name in CONVOLUTIONS or "pool" in op.name:
        return _of_window(op, first)
    if op.name in ("tril", "triu"):
        return [first.within(triangle(op.inputs[0].shape, op.name == "triu", op.args.get("diagonal", 0)))]
    special = SPECIAL.get(op.name)
    if special is not None:
        return special(op, first)
    if op.name in POINTWISE or op.pointwise:
        return _of_pointwise(op, first)
    return [FULL if op.share == 1 else Need(None, op.share) for _ in op.inputs]


def _through_view(op, wanted: list) -> Need:
    base = op.inputs[0]
    live = [(i, need) for i, need in enumerate(wanted) if need is not None and need.share > 0]
    if op.name in SAME_ELEMENTS and live[0][1] is FULL:
        return FULL
    if len(live) == 1 and live[0][1].mask is not None:
        kept = _same_trailing(op, live[0][1].mask, base, op.outputs[live[0][0]])
        if kept is not None:
            return Need.of(kept)
    if op.name == "expand":
        need = live[0][1]
        return need if need.mask is None else Need.of(_reduced(need.mask, base.shape))
    line = _along_one_dimension(op, base, live)
    if line is not None:
        return line
    counted = min(sum(op.outputs[i].numel * need.share for i, need in live) / max(base.numel, 1), 1.0)
    exact = all(need is FULL or need.mask is not None for _, need in live)
    if base.numel <= MASK_LIMIT and exact:
        try:
            mask = torch.zeros(base.shape, dtype=torch.bool, device=_device(live))
            views = op.replay(mask)
            views = list(views) if isinstance(views, (list, tuple)) else [views]
            for i, need in live:
                views[i].logical_or_(need.mask if need.mask is not None else
                                     torch.ones((), dtype=torch.bool, device=mask.device))
            return Need.of(mask)
        except (RuntimeError, IndexError):
            pass  # strides that a mask of its own does not have
    return FULL if counted == 1 and op.name in SAME_ELEMENTS else Need(None, counted)


def _along_one_dimension(op, base, live) -> Need | None:
    """Slices that are needed whole: a mask along their dimension says it all."""
    if op.name not in ("slice", "select", "narrow", "split", "split_with_sizes", "chunk", "unbind") or any(
            need is not FULL for _, need in live):
        return None
    dim, rank = op.args.get("dim", 0), len(base.shape)
    line = torch.zeros([base.shape[d] if d == dim % rank else 1 for d in range(rank)], dtype=torch.bool)
    # Along the other dimensions the view is the whole; one element stands for them.
    views = op.replay(line)
    views = list(views) if isinstance(views, (list, tuple)) else [views]
    for i, _ in live:
        views[i].fill_(True)
    return Need.of(line)


def _device(live):
    return next((need.mask.device for _, need in live if need.mask is not None), None)


def _of_pointwise(op, first: Need) -> list[Need]:
    shape = op.outputs[0].shape
    needs = []
    for value in op.inputs:
        need = first
        if need.mask is not None and tuple(value.shape) != tuple(shape):
            need = Need.of(_reduced(need.mask, value.shape))
        needs.append(need)
    closed = _closed_by(op)
    for i, value in enumerate(op.inputs):
        if tuple(value.shape) != tuple(shape):
            continue
        for mask in closed.get(i, ()):
            needs[i] = needs[i].within(~mask if mask.dtype == torch.bool else mask == 0)
    return needs


def _look_at(op, value):
    """A value's content; notes on the operator when that is data and no rule of the task."""
    op.by_data = op.by_data or not value.constant
    return value.known


def _closed_by(op) -> dict[int, list[torch.Tensor]]:
    """For inputs by their number: masks of the elements that the operator does not look at."""
    if op.name in ("masked_fill", "masked_fill_") and op.args["mask"].known is not None:
        return {0: [_look_at(op, op.args["mask"])]}
    if op.name == "where" and op.args.get("condition") is not None and op.args["condition"].known is not None:
        condition = _look_at(op, op.args["condition"])
        places = {id(v): i for i, v in enumerate(op.inputs)}
        found = {}
        for key, mask in (("self", ~condition), ("other", condition)):
            value = op.args.get(key)
            if id(value) in places:
                found[places[id(value)]] = [mask]
        return found
    if op.name in ("mul", "add") and len(op.inputs) == 2:
        for i in (0, 1):
            constant = op.inputs[1 - i]
            if constant.constant and constant.known is not None:
                known = constant.known
                shut = known == 0 if op.name == "mul" else known == -math.inf
                if bool(shut.any()):
                    return {i: [shut]}
    return {}


def _of_matmul(op, first: Need) -> list[Need]:
    a, b = (op.args[key] for key in MATMULS[op.name])
    left, right = first, first
    if first.mask is not None and first.mask.ndim >= 2 and len(b.shape) >= 2:
        left = Need.of(first.mask.any(-1, keepdim=True))
        right = Need.of(first.mask.any(-2, keepdim=True))
    elif first is not FULL:
        left = right = Need(None, first.share)
    if a.pattern is not None:
        left = left.within(a.pattern)
        if len(b.shape) >= 2:
            right = right.within(a.pattern.any(-2, keepdim=True).transpose(-1, -2))
    if b.pattern is not None and len(b.shape) >= 2:
        right = right.within(b.pattern)
        left = left.within(b.pattern.any(-1, keepdim=True).transpose(-1, -2))
    bias = _of_pointwise(op, first)
    return [left if v is a else right if v is b else bias[i] for i, v in enumerate(op.inputs)]


def _of_window(op, first: Need) -> list[Need]:
    """Convolutions and pools: strides that are longer than the window leave holes."""
    share = FULL if op.share == 1 else Need(None, op.share)
    needs = [share] * len(op.inputs)
    x = op.inputs[0]
    kernel = op.args.get("kernel_size")
    if op.name in CONVOLUTIONS:
        kernel = op.args["weight"].shape[2:]
    if kernel is None or op.args.get("transposed") or share is not FULL:
        return needs
    spatial = len(x.shape) - 2 if op.name in CONVOLUTIONS else len(kernel)

    def each(key, fallback):
        value = op.args.get(key)
        value = fallback if value is None or value == [] else value
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        return value * spatial if len(value) == 1 else value

    kernel, stride = each("kernel", list(kernel)), each("stride", list(kernel))
    padding, dilation = each("padding", 0), each("dilation", 1)
    mask = None
    for d in range(spatial):
        size, count = x.shape[-spatial + d], op.outputs[0].shape[-spatial + d]
        at = (torch.arange(count).unsqueeze(1) * stride[d] - padding[d] + torch.arange(kernel[d]) * dilation[d])
        at = at[(at >= 0) & (at < size)]
        line = torch.zeros(size, dtype=torch.bool)
        line[at] = True
        line = line.view([size] + [1] * (spatial - 1 - d))
        mask = line if mask is None else mask & line
    needs[0] = Need.of(mask)
    return needs


def _rows(op, first: Need) -> list[Need]:
    """Gathers: only what the indices name."""
    table = op.inputs[0]
    index = op.args.get("indices", op.args.get("index"))
    dim = 0 if op.name == "embedding" else op.args.get("dim", 0)
    others = [FULL] * (len(op.inputs) - 1)
    listed = index if isinstance(index, (list, tuple)) else None
    known = [v.known for v in listed if v is not None] if listed is not None else [index.known]
    if any(k is None for k in known):
        size = table.numel if op.name == "gather" or listed and len(listed) > 1 else table.shape[dim]
        return [Need(None, _expected(op.outputs[0].numel * size // max(table.numel, 1), size)), *others]
    for value in listed if listed is not None else [index]:
        if value is not None:
            _look_at(op, value)
    if listed is None and op.name != "gather":
        mask = torch.zeros(table.shape[dim], dtype=torch.bool, device=known[0].device)
        mask[known[0].reshape(-1)] = True
        return [Need.of(mask.view([-1] + [1] * (len(table.shape) - 1 - dim % len(table.shape)))), *others]
    if listed is not None and len(listed) == 1 and known[0].dtype != torch.bool:
        mask = torch.zeros(table.shape[0], dtype=torch.bool, device=known[0].device)
        mask[known[0].reshape(-1)] = True
        return [Need.of(mask.view([-1] + [1] * (len(table.shape) - 1))), *others]
    if table.numel > MASK_LIMIT:
        return [Need(None, _expected(op.outputs[0].numel, table.numel)), *others]
    mask = torch.zeros(table.shape, dtype=torch.bool, device=known[0].device)
    if listed is not None:
        mask[tuple(slice(None) if v is None else v.known for v in listed)] = True
    else:
        mask.scatter_(dim, known[0], True)
    return [Need.of(mask), *others]


def _expected(draws: int, size: int) -> float:
    """Share of ``size`` rows that ``draws`` random ones hit, less three standard deviations."""
    load = draws / max(size, 1)
    mean = 1 - math.exp(-load)
    spread = math.sqrt(max(math.exp(-load) - (1 + load) * math.exp(-2 * load), 0) / max(size, 1))
    return max(mean - 3 * spread, 0.0)


def _replaced_rows(op, first: Need) -> list[Need]:
    """Rows that are replaced need not be read."""
    needs = [FULL if op.share == 1 else Need(None, op.share)] * len(op.inputs)
    index, dim = op.args["index"], op.args.get("dim", 0)
    if index.known is not None and first is FULL:
        kept = torch.ones(op.inputs[0].shape[dim], dtype=torch.bool, device=index.known.device)
        kept[_look_at(op, index).reshape(-1)] = False
        needs[0] = Need.of(kept.view([-1] + [1] * (len(op.inputs[0].shape) - 1 - dim % len(op.inputs[0].shape))))
    return needs


def _concatenated(op, first: Need) -> list[Need]:
    if first.mask is None:
        return [first] * len(op.inputs)
    shape = op.outputs[0].shape
    mask, dim, at, needs = first.mask.expand(shape), op.args.get("dim", 0), 0, []
    for value in op.inputs:
        size = value.shape[dim] if value.numel else 0
        needs.append(Need.of(mask.narrow(dim, at, size)) if size else NOTHING)
        at += size
    return needs


def _of_rows(op, first: Need) -> list[Need]:
    """Softmax: an element needs its whole row."""
    if first.mask is None:
        return [first]
    dim = op.args["dim"] % len(op.outputs[0].shape) - len(op.outputs[0].shape)
    return [Need.of(first.mask.any(dim, keepdim=True)) if first.mask.ndim >= -dim else first]


SPECIAL = {"_softmax": _of_rows, "_log_softmax": _of_rows, "_safe_softmax": _of_rows, "embedding": _rows, "index": _rows, "index_select": _rows, "gather": _rows,
           "index_copy": _replaced_rows, "cat": _concatenated}


def pattern_of(op, value) -> None:
    """Sets what is known of a new value's zeros (``pattern``) and of its -inf (``closed``)."""
    with _disable_current_modes():
        try:
            _pattern_of(op, value)
        except RuntimeError:
            value.pattern = value.closed = None


def _pattern_of(op, value) -> None:
    inputs = op.inputs
    if op.kind == "make" or value.constant:
        if value.known is not None and value.known.ndim >= 2 and value.dtype.is_floating_point:
            nonzero = value.known != 0
            value.pattern = None if bool(nonzero.all()) else nonzero
            closed = value.known == -math.inf
            value.closed = closed if bool(closed.any()) else None
        return
    if not inputs:
        return
    x = inputs[0]
    if op.kind == "view":
        value.pattern, value.closed = (_view_of(op, mask, x, value) for mask in (x.pattern, x.closed))
    elif op.name in ("tril", "triu"):
        value.pattern = triangle(x.shape, op.name == "triu", op.args.get("diagonal", 0))
        if x.pattern is not None:
            value.pattern = value.pattern & x.pattern
    elif op.name in ("diag_embed", "diag") and len(value.shape) >= 2 and value.shape[-1] == value.shape[-2]:
        value.pattern = torch.eye(value.shape[-1], dtype=torch.bool)
    elif op.name in ("masked_fill", "masked_fill_") and op.args["mask"].known is not None:
        fill, mask = op.args.get("value"), op.args["mask"].known
        fill = fill.known.item() if hasattr(fill, "known") and fill.known is not None else fill
        if fill == 0:
            value.pattern = ~mask if x.pattern is None else ~mask & x.pattern
        elif fill == -math.inf:
            value.closed = mask
    elif op.name in ("_softmax", "_safe_softmax"):
        value.pattern = ~x.closed if x.closed is not None else None
    elif op.name == "add" and len(inputs) == 2:
        value.closed = inputs[0].closed if inputs[0].closed is not None else inputs[1].closed
    elif op.name == "mul" and len(inputs) == 2:
        a, b = inputs[0].pattern, inputs[1].pattern
        value.pattern = a & b if a is not None and b is not None else a if a is not None else b
    elif op.name in ("mul", "div") and tuple(x.shape) == tuple(value.shape):
        value.pattern, value.closed = x.pattern, x.closed if op.name == "div" else None
    elif op.name in ZERO_STAYS:
        value.pattern = x.pattern
        value.closed = x.closed if op.name in ("_to_copy", "clone") else None


def _same_trailing(op, mask, base, value):
    """A mask of trailing dimensions that a view keeps, or exchanges; None: another view."""
    while mask.ndim > 2 and mask.shape[0] == 1:
        mask = mask[0]
    rank = mask.ndim
    if op.name in ("view", "_unsafe_view", "expand", "unsqueeze", "squeeze") and min(
            len(base.shape), len(value.shape)) >= rank and base.shape[-rank:] == value.shape[-rank:]:
        return mask
    if op.name in ("transpose", "t", "permute") and rank == 2 and _swaps_last(op, base):
        return mask.transpose(0, 1)
    return None


def _view_of(op, mask, base, value):
    """The same view of a mask; None where it would be too large."""
    if mask is None or base.numel > MASK_LIMIT:
        return None
    kept = _same_trailing(op, mask, base, value)
    if kept is not None:
        return kept
    viewed = op.replay(mask.expand(base.shape).clone())
    return viewed if isinstance(viewed, torch.Tensor) else None


def _swaps_last(op, base) -> bool:
    rank = len(base.shape)
    if op.name == "t":
        return True
    if op.name == "transpose":
        return {op.args["dim0"] % rank, op.args["dim1"] % rank} == {rank - 1, rank - 2}
    dims = [d % rank for d in op.args["dims"]]
    return dims[-2:] == [rank - 1, rank - 2]
