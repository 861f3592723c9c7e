"""Loading task modules and building models, the same way for reference and candidate."""

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


class Flags:
    """Global switches of torch that a module may set at import. Each task keeps its own, so that
    none changes how another one is computed."""

    def __init__(self):
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        self.values = (
            torch.get_default_dtype(),
            matmul.allow_tf32,
            cudnn.allow_tf32,
            cudnn.enabled,
            cudnn.benchmark,
            cudnn.deterministic,
            torch.are_deterministic_algorithms_enabled(),
        )

    def apply(self) -> None:
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        dtype, matmul.allow_tf32, cudnn.allow_tf32, cudnn.enabled, cudnn.benchmark, cudnn.deterministic, strict = (
            self.values
        )
        torch.set_default_dtype(dtype)
        if torch.are_deterministic_algorithms_enabled() != strict:  # setting it imports the compiler, a second
            torch.use_deterministic_algorithms(strict)


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


def build(cls: type, init_inputs: list, seed: int, device: str) -> torch.nn.Module:
    """Constructs ``cls(*init_inputs)`` from ``seed`` on ``device``.

    Parameters are drawn on the device itself (gigabytes of them would take seconds on the CPU);
    a constructor that cannot run under a default device is built on the CPU and moved.
    """
    seed_everything(seed)
    with torch.no_grad():
        try:
            with torch.device(device):
                model = cls(*init_inputs)
        except Exception:
            if device == "cpu":
                raise
            seed_everything(seed)
            model = cls(*init_inputs)
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
    if own.keys() != wanted.keys() or any(own[key].shape != wanted[key].shape for key in own):
        return "seed"
    with torch.no_grad():
        for key, value in own.items():
            value.copy_(wanted[key])
    return "copied"
