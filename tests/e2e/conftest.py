"""The end-to-end tests install real clients from the package index and judge real kernels for minutes:
they run when somebody asks for them (`make test-e2e`)."""

import os

import pytest


def pytest_collection_modifyitems(items):
    if os.environ.get("ASSAY_TEST_E2E") == "1":
        return
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here + os.sep):
            item.add_marker(pytest.mark.skip(reason="end to end, takes minutes: make test-e2e"))
