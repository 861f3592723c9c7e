"""Loading task modules and building models, the same way for reference and candidate."""

import copy
import importlib.util
import inspect
import random
import sys
from types import ModuleType

import torch


def load_file(path: str, name: str) -> ModuleType:
    """Imports a Python file under ``name``; decorators such as ``triton.jit`` need a real file."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


PRECISIONS = ("default", "ieee", "tf32")  # of float32 matrix work, see Flags.under


class Flags:
    """Global switches of torch that a module may set. Each task keeps its own, so that none changes how
    another one is computed."""

    def __init__(self):
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        self.values = {
            "dtype": torch.get_default_dtype(),
            # torch's two ways to set precisions contradict each other, and then reading one raises.
            "fp32": getattr(torch.backends, "fp32_precision", None),
            "matmul": _read(torch.get_float32_matmul_precision, "mixed"),
            "matmul_tf32": _read(lambda: matmul.allow_tf32, "mixed"),
            "cudnn_tf32": _read(lambda: cudnn.allow_tf32, "mixed"),
            "enabled": cudnn.enabled,
            "benchmark": cudnn.benchmark,
            "deterministic_cudnn": cudnn.deterministic,
            "deterministic": torch.are_deterministic_algorithms_enabled(),
        }

    def under(self, precision: str) -> "Flags":
        """These, but with float32 matrix work in full ("ieee"), or in TF32 where the device has it ("tf32").
        "default": as they are; torch's own are TF32 for convolutions alone."""
        flags = copy.copy(self)
        if precision != "default":
            tf32 = precision == "tf32"
            flags.values = {**self.values, "matmul": "high" if tf32 else "highest", "matmul_tf32": tf32, "cudnn_tf32": tf32}
        return flags

    def apply(self) -> None:
        now, wanted = Flags().values, self.values
        if now == wanted:
            return
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        torch.set_default_dtype(wanted["dtype"])
        if now["fp32"] != wanted["fp32"]:
            torch.backends.fp32_precision = wanted["fp32"]
        if wanted["matmul"] != "mixed":
            torch.set_float32_matmul_precision(wanted["matmul"])
        if _read(lambda: matmul.allow_tf32, "mixed") != wanted["matmul_tf32"] != "mixed":
            matmul.allow_tf32 = wanted["matmul_tf32"]
        if now["cudnn_tf32"] != wanted["cudnn_tf32"] != "mixed":
            cudnn.allow_tf32 = wanted["cudnn_tf32"]
        cudnn.enabled, cudnn.benchmark = wanted["enabled"], wanted["benchmark"]
        cudnn.deterministic = wanted["deterministic_cudnn"]
        if now["deterministic"] != wanted["deterministic"]:  # setting it imports the compiler, a second
            torch.use_deterministic_algorithms(wanted["deterministic"])

    def changed(self) -> list[str]:
        """What stands otherwise now, as the verdict's flags call it."""
        now = Flags().values
        return sorted({SWITCHES[key] for key, value in self.values.items() if now[key] != value})


SWITCHES = {
    "dtype": "global_dtype",
    "fp32": "global_precision",
    "matmul": "global_precision",
    "matmul_tf32": "global_precision",
    "cudnn_tf32": "global_precision",
    "enabled": "global_cudnn",
    "benchmark": "global_cudnn",
    "deterministic_cudnn": "global_cudnn",
    "deterministic": "global_deterministic",
}


def _read(switch, otherwise):
    try:
        return switch()
    except RuntimeError:
        return otherwise


def load_task(path: str, name: str, size: str) -> ModuleType:
    """Imports a task. A task may name sizes for small and large machines in
    ``SIZES = {"cpu": {...}, "gpu": {...}}``; the chosen set replaces the module's globals."""
    module = load_file(path, name)
    sizes = getattr(module, "SIZES", None)
    if isinstance(sizes, dict) and size in sizes:
        vars(module).update(sizes[size])
    return module


def seed_everything(seed: int) -> None:
    """Seeds every generator that a task may draw from: the same seed gives the same inputs.

    The generators are seeded one by one: torch.manual_seed() also notes, with a stack trace each
    (0.4 ms in all), what it would do on backends that are not there.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        for generator in torch.cuda.default_generators:
            generator.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def random_state() -> list:
    """Where those generators stand; two are equal when nothing was drawn in between."""
    state = [torch.default_generator.get_state().numpy().tobytes(), random.getstate()]
    if torch.cuda.is_initialized():
        state += [generator.get_state().numpy().tobytes() for generator in torch.cuda.default_generators]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        _, words, place, *_ = numpy.random.get_state()
        state += [words.tobytes(), place]
    return state


def construct(cls: type, init_inputs: list) -> torch.nn.Module:
    """``cls(*init_inputs)``; where they are ``[[], {...}]``, as KernelBook writes arguments by name, ``cls(**{...})``."""
    match init_inputs:
        case [[], dict() as named]:
            return cls(**named)
    return cls(*init_inputs)


def build(cls: type, init_inputs: list, seed: int, device: str) -> torch.nn.Module:
    """Constructs ``cls`` with ``init_inputs`` from ``seed`` on ``device``.

    Parameters are drawn on the device itself (gigabytes of them would take seconds on the CPU);
    a constructor that cannot run under a default device is built on the CPU and moved.
    """
    seed_everything(seed)
    with torch.no_grad():
        try:
            with torch.device(device):
                model = construct(cls, init_inputs)
        except Exception:
            if device == "cpu":
                raise
            seed_everything(seed)
            model = construct(cls, init_inputs)
        return model.to(device) if hasattr(model, "to") else model


def forward_inputs(cls: type) -> int:
    """Positional inputs of ``forward`` without ``self``; -1 when it takes any number."""
    parameters = list(inspect.signature(cls.forward).parameters.values())[1:]
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return -1
    return len([p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])


def load_state(model: torch.nn.Module, names: list[str], tensors: list[torch.Tensor]) -> str:
    """Copies the reference's parameters and buffers by name and shape.

    "copied" when every name and shape fits, "none" when neither side has any, else "seed": then
    both sides stand on having been built from one seed.
    """
    if not isinstance(model, torch.nn.Module):
        return "seed" if names else "none"
    own = {key: value for key, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
    if not own and not names:
        return "none"
    wanted = dict(zip(names, tensors))
    if any(torch.nn.parameter.is_lazy(value) for value in own.values()):
        # A lazy layer gets its shapes with its values; one that is not given them draws in its first call.
        if own.keys() == wanted.keys():
            model.load_state_dict({key: value.clone() for key, value in wanted.items()})
            return "copied"
        return "seed"
    if own.keys() != wanted.keys() or any(own[key].shape != wanted[key].shape for key in own):
        return "seed"
    with torch.no_grad():
        for key, value in own.items():
            value.copy_(wanted[key])
    return "copied"
