"""Arithmetic of PyTorch's operators, for ``trace_work``.

Multiply and add are two. ``matrix`` work can run on matrix units, ``vector`` work cannot. Three
figures each: nominal (as written), structural (without what is not needed or known to be zero) and
algorithmic (less the most that Winograd's and Strassen's algorithms could save): the last is what a
bound may rest on.
"""

import math

import torch

MATMULS = {"mm": ("self", "mat2"), "bmm": ("self", "mat2"), "addmm": ("mat1", "mat2"),
           "baddbmm": ("batch1", "batch2"), "addbmm": ("batch1", "batch2"), "_int_mm": ("self", "mat2"),
           "mv": ("self", "vec"), "addmv": ("mat", "vec"), "dot": ("self", "tensor"), "vdot": ("self", "other"),
           "_addmm_activation": ("mat1", "mat2"), "_scaled_mm": ("self", "mat2"), "linear": ("input", "weight")}
CONVOLUTIONS = {"convolution", "_convolution", "cudnn_convolution", "mkldnn_convolution", "convolution_overrideable"}
ATTENTIONS = {"_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
              "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu",
              "_scaled_dot_product_fused_attention_overrideable", "_scaled_dot_product_attention_math",
              "scaled_dot_product_attention"}
RECURRENT = {"_cudnn_rnn", "mkldnn_rnn_layer", "miopen_rnn"}
# One operation for each element that goes in. Products of a matrix with few columns are here too.
REDUCTIONS = {"sum", "mean", "prod", "amax", "amin", "max", "min", "aminmax", "argmax", "argmin", "norm",
              "linalg_vector_norm", "var", "var_mean", "std", "logsumexp", "_softmax", "_log_softmax",
              "_safe_softmax", "native_layer_norm", "native_group_norm", "native_batch_norm",
              "_native_batch_norm_legit", "_native_batch_norm_legit_functional", "cudnn_batch_norm",
              "_fused_rms_norm", "any", "all", "median", "kthvalue", "nll_loss_forward"}
SCANS = {"cumsum", "cumprod", "cummax", "cummin", "_cummax_helper", "_cummin_helper", "logcumsumexp"}
# Vector work of a matrix-vector product: no matrix unit makes it faster than memory.
TILE = 4  # outputs of Winograd's F(4, r): larger tiles lose too many digits
STRASSEN_FROM = 1024  # smallest dimension of a level; at most two levels are worth it


def name_of(func) -> str:
    return func._schema.name.split("::")[-1]


def bind(func, args, kwargs) -> dict:
    """Arguments by their names in the operator's schema, defaults included."""
    bound = {}
    for i, argument in enumerate(func._schema.arguments):
        if i < len(args):
            bound[argument.name] = args[i]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            bound[argument.name] = argument.default_value
    return bound


def is_matrix(op) -> bool:
    return op.name in MATMULS or op.name in CONVOLUTIONS or op.name in ATTENTIONS or op.name in RECURRENT


def is_reduction(op) -> bool:
    return op.name in REDUCTIONS or op.name in SCANS


def flops_of(op):
    """Yields (class, dtype, nominal, structural, algorithmic) of an operator that is solved."""
    if op.kind != "compute":
        return
    if op.name in MATMULS:
        yield _matmul(op)
    elif op.name in CONVOLUTIONS:
        yield _convolution(op)
    elif op.name in ATTENTIONS:
        yield _attention(op)
    elif op.name in RECURRENT:
        yield _recurrent(op)
    elif op.name in REDUCTIONS or op.name in SCANS:
        x = next((v for v in op.inputs if v.dtype.is_floating_point), None)
        if x is not None:
            need = op.needs[op.inputs.index(x)].share if op.live else 0.0
            yield "vector", x.dtype, float(x.numel), x.numel * need, x.numel * need


def _matmul(op):
    a, b = (op.args[key] for key in MATMULS[op.name])
    if len(b.shape) == 1 or op.name in ("dot", "vdot"):
        nominal = 2.0 * a.numel
        return "vector", a.dtype, nominal, nominal * op.share, nominal * op.share
    k = a.shape[-1]
    m, n = a.shape[-2], b.shape[0] if op.name == "linear" else b.shape[-1]
    batch = math.prod(a.shape[:-2])
    nominal = 2.0 * batch * m * n * k
    structural = nominal * matmul_share(op, a, b) if op.live else 0.0
    levels = sum(1 for level in (1, 2) if min(m, n, k) >= STRASSEN_FROM * level)
    kind = "vector" if min(m, n) == 1 else "matrix"
    return kind, a.dtype, nominal, structural, structural * (7 / 8) ** levels


def matmul_share(op, a, b) -> float:
    """Share of the multiplications whose result is wanted and whose factors are not known zeros."""
    wanted = getattr(op, "wanted", None)
    masks = [wanted.mask if wanted is not None else None, a.pattern, b.pattern]
    if all(mask is None for mask in masks):
        return op.share
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    out, left, right = (_two_dimensional(mask, shape) if mask is not None else None
                        for mask, shape in zip(masks, ((m, n), (m, k), (k, n))))
    if left is None and right is None:
        return op.share
    if left is not None and right is not None:
        pairs = left @ right  # how many products each result sums
    elif left is not None:
        pairs = left.sum(-1, keepdim=True).expand(*left.shape[:-1], n)
    else:
        pairs = right.sum(-2, keepdim=True).expand(*right.shape[:-2], m, n)
    if out is not None:
        pairs = pairs * out
        return float(pairs.double().mean()) / k
    return float(pairs.double().mean()) / k * op.share


def _two_dimensional(mask, shape):
    return mask.expand(*mask.shape[:-2], *shape).float() if mask.ndim >= 2 else mask.expand(shape).float()


def _taps(size_in, size_out, kernel, stride, padding, dilation) -> float:
    """Share of one dimension's taps that touch the input and not its padding."""
    out = torch.arange(size_out).unsqueeze(1) * stride - padding
    at = out + torch.arange(kernel) * dilation
    return float(((at >= 0) & (at < size_in)).double().mean())


def _convolution(op):
    x, w = op.args["input"] if "input" in op.args else op.args["self"], op.args["weight"]
    y = op.outputs[0]
    groups, transposed = op.args.get("groups", 1), op.args.get("transposed", False)
    kernel = w.shape[2:]
    spatial = len(kernel)
    stride, padding, dilation = (_each(op.args.get(key), spatial, fallback)
                                 for key, fallback in (("stride", 1), ("padding", 0), ("dilation", 1)))
    inside, outside = (y, x) if transposed else (x, y)  # a transposed one scatters from its input
    nominal = 2.0 * outside.numel * math.prod(kernel) * w.shape[1]
    valid = math.prod(_taps(inside.shape[2 + d], outside.shape[2 + d], kernel[d], stride[d], padding[d], dilation[d])
                      for d in range(spatial))
    structural = nominal * valid * op.share
    saving = 1.0
    for d in range(spatial):
        taps = -(-kernel[d] // stride[d])  # of a phase of a strided one
        saving *= TILE * taps / (TILE + taps - 1)
    per_group = (x.shape[1] // groups, y.shape[1] // groups)
    kind = "vector" if min(per_group) == 1 and groups > 1 else "matrix"
    return kind, x.dtype, nominal, structural, structural / saving


def _each(value, count, fallback) -> list[int]:
    if value is None or isinstance(value, str):
        return [fallback] * count
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    return value * count if len(value) == 1 else value


def _attention(op):
    q, k, v = op.args["query"], op.args["key"], op.args["value"]
    nominal = 2.0 * math.prod(q.shape[:-1]) * k.shape[-2] * (q.shape[-1] + v.shape[-1])
    share = op.share
    if op.args.get("is_causal"):
        rows, cols = q.shape[-2], k.shape[-2]
        full = sum(min(i + 1, cols) for i in range(rows))
        share *= full / (rows * cols)
    else:
        mask = op.args.get("attn_mask", op.args.get("attn_bias"))
        if mask is not None and mask.known is not None and mask.dtype == torch.bool:
            share *= float(mask.known.double().mean())
        elif mask is not None and mask.closed is not None:
            share *= float((~mask.closed).double().mean())
    return "matrix", q.dtype, nominal, nominal * share, nominal * share


def _recurrent(op):
    x = op.args["input"]
    weights = [v for v in op.inputs[1:] if len(v.shape) == 2]
    steps = math.prod(x.shape[:-1])  # each weight meets each step of each sequence once
    nominal = 2.0 * steps * sum(w.numel for w in weights)
    return "matrix", x.dtype, nominal, nominal * op.share, nominal * op.share
