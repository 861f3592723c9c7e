"""A process in which a submission's own kernels are never launched.

What its call returns then does not come from them: if that is right all the same, they are decoys.
Triton's functions are cut off where they are run, extension modules where they enter CUDA's
libraries. A launch that takes another way is not left out, and the caller sees that none was.
"""

import sys

from . import native, profiling

skipped = 0  # launches of Triton's functions


def install() -> None:
    """Before the submission is imported."""
    for name, class_name in (("triton.runtime.jit", "JITFunction"), ("triton.runtime.interpreter", "InterpretedFunction")):
        owner = getattr(sys.modules.get(name), class_name, None)
        if owner is not None:
            owner.run = _skipping(owner.run)


def patch_extensions(folder: str) -> None:
    """The modules that were loaded from ``folder`` so far."""
    native.ghost_patch(folder)


def launches() -> int:
    """How many were left out."""
    return skipped + native.ghost_skipped()


def _skipping(run):
    def skip(self, *args, **kwargs):
        if profiling.of_library(self):
            return run(self, *args, **kwargs)
        if not kwargs.get("warmup"):
            global skipped
            skipped += 1
        return None

    return skip
