"""The runtime's native library, as it was built."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def native_library(root) -> Path:
    """Path of the library. Skips where it is not built."""
    library = Path(os.environ.get("ASSAY_BUILD_DIR", root / "build/release")) / "lib/libassay_native.so"
    if not library.exists():
        pytest.skip(f"{library} is not built")
    return library


@pytest.fixture
def native(native_library):
    """The runtime's module of native calls, with the library loaded."""
    module = pytest.importorskip("assay.runtime.native")
    module.load(str(native_library))
    return module
