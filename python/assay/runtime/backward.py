"""Tasks that ask for gradients: ``CHECK = "backward"`` in a task's module.

A call then is forward and backward. Reference and candidate are wrapped alike: the wrapped model takes
one more input, the gradients of the outputs (hidden, drawn with the inputs), and returns the outputs,
the gradients of all floating inputs and those of the parameters, in the reference's order. So the same
rule compares them and the same rounds time them.
"""

import torch

from . import tree


def asked_for(module) -> bool:
    """Whether a task's module asks for gradients. ValueError: for something unknown."""
    check = getattr(module, "CHECK", "forward")
    if check not in ("forward", "backward"):
        raise ValueError(f'CHECK is {check!r}; there are "forward" and "backward"')
    return check == "backward"


class WithGradients(torch.nn.Module):
    """A model whose call is forward and backward."""

    def __init__(self, model, parameters: list[str] | None = None):
        """``parameters``: names of those whose gradients are returned; None: all that have any.
        LookupError: the model has none of that name."""
        super().__init__()
        self.model = model
        own = dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else {}
        if parameters is None:
            parameters = [name for name, parameter in own.items() if parameter.requires_grad]
        missing = [name for name in parameters if name not in own]
        if missing:
            raise LookupError(
                f"the task asks for gradients of the parameters {', '.join(parameters)}; ModelNew has none named "
                + ", ".join(missing)
            )
        self.names = parameters

    def forward(self, *args):
        *inputs, gradients = args
        with torch.enable_grad():
            spec, tensors = tree.flatten(list(inputs))
            tensors = [t.detach().requires_grad_() if differentiable(t) else t for t in tensors]
            own = dict(self.model.named_parameters()) if self.names else {}
            leaves = [t for t in tensors if t.requires_grad] + [own[name] for name in self.names]
            outputs = tree.flatten(self.model(*tree.unflatten(spec, tensors, tensors[0].device if tensors else "cpu")))[1]
            pairs = zip([t for t in outputs if differentiable(t)], gradients)
            pairs = [(t, g) for t, g in pairs if t.requires_grad]
            if not pairs:
                raise RuntimeError("no output has a gradient: forward() detaches its result or disables gradients")
            roots, seeds = zip(*pairs)
            found = torch.autograd.grad(roots, leaves, seeds, allow_unused=True)
        found = [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found)]
        return tuple(t.detach() for t in (*outputs, *found))


def differentiable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def gradients_like(outputs) -> list[torch.Tensor]:
    """Shapes of the gradients that a call takes, as tensors without memory."""
    return [torch.empty_like(t, device="meta") for t in tree.flatten(outputs)[1] if differentiable(t)]


def draw_gradients(like: list[torch.Tensor], device: str) -> list[torch.Tensor]:
    """Random ones, from torch's generators."""
    return [torch.randn(t.shape, dtype=t.dtype, device=device) for t in like]
