"""`assay honest`: honest submissions, however tricky, are judged correct, and broken ones for what they are."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "zoo"))
from _collection import check, judge, names  # noqa: E402


@pytest.fixture(scope="session")
def rows(request, assay_bin):
    return judge(assay_bin, "honest", HERE, request.session)


@pytest.mark.parametrize("submission", names(HERE))
def test_is_judged_right(submission, rows):
    check(rows[submission])
