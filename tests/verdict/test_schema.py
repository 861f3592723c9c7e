"""Validates the golden verdict documents against the published schema.

Needs the `jsonschema` package (pip install jsonschema). The C++ tests check the same documents with
a checker of their own; this test asks an independent implementation of JSON Schema.
"""

import copy
import json
import pathlib

import pytest

jsonschema = pytest.importorskip(
    "jsonschema", reason="SCHEMA NOT CHECKED: install `jsonschema` to validate verdict documents"
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schema" / "assay.verdict.1.json").read_text())
GOLDEN = sorted((ROOT / "src" / "verdict" / "testdata").glob("*.json"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def load(name: str) -> dict:
    return json.loads((ROOT / "src" / "verdict" / "testdata" / name).read_text())


def test_schema_is_valid_draft_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_there_are_golden_documents() -> None:
    names = {path.stem for path in GOLDEN}
    assert {"correct", "incorrect", "compile_error", "timeout", "cheat", "infra"} <= names


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_document_is_valid(path: pathlib.Path) -> None:
    document = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    errors = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]
    assert not errors


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.update(extra=1),
        lambda d: d.pop("feedback"),
        lambda d: d.update(status="fine"),
        lambda d: d.update(status="incorrect"),
        lambda d: d["timing"]["speedup"].update(low=0),
        lambda d: d["timing"]["candidate_us"].pop("p80"),
        lambda d: d.update(raw={"candidate": [], "reference": []}),
    ],
)
def test_schema_refuses_a_changed_document(edit) -> None:
    document = copy.deepcopy(load("correct.json"))
    assert VALIDATOR.is_valid(document)
    edit(document)
    assert not VALIDATOR.is_valid(document)


def test_only_correct_documents_hold_times() -> None:
    document = load("incorrect.json")
    document["timing"]["speedup"] = {"value": 2.0, "low": 1.9, "high": 2.1}
    assert not VALIDATOR.is_valid(document)
