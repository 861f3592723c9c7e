"""Clear words when an engine is missing or is another one than the adapter knows."""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from types import ModuleType


def require(package: str, module: str, tested: str) -> ModuleType:
    """Imports `module` of `package`. ImportError says how to get it; another minor version than
    `tested` warns, because these engines' interfaces move with every minor release."""
    try:
        found = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(
            f"{package} is not installed: pip install '{package}=={tested}' (the version this adapter "
            "was tested with)"
        ) from None
    if found.split(".")[:2] != tested.split(".")[:2]:
        warnings.warn(
            f"{package} {found} is installed; this adapter was tested with {tested}", stacklevel=3
        )
    try:
        return importlib.import_module(module)
    except Exception as error:  # engines raise all sorts of things on import
        raise ImportError(
            f"{package} {found} has no usable {module} ({type(error).__name__}: {error}); this adapter was tested with "
            f"{package} {tested}"
        ) from error
