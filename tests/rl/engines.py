"""Engines as the tests find them: what one needs beyond itself may be missing where another is tested."""

import importlib

import pytest


def why_not(module):
    """Why `module` cannot be imported here, or "" where it can."""
    try:
        importlib.import_module(module)
    except Exception as error:  # noqa: BLE001  whatever an engine raises on import
        said = (str(error).splitlines() or [""])[0]
        return f"{module} cannot be imported here ({type(error).__name__}: {said})"
    return ""


def module(name, untested, *, allow_module_level=False):
    """The module, else a skip that says why and what is then not tested."""
    if reason := why_not(name):
        pytest.skip(f"{reason}: {untested} NOT tested", allow_module_level=allow_module_level)
    return importlib.import_module(name)
