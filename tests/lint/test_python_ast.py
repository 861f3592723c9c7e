"""Lint's parser against CPython's: what both say about the standard library, at which bytes.

Compared are functions, classes, calls, names, attributes, strings and imports, in what both trees have
alike: not the patterns of `match`, nor what is in f-strings (before 3.12 CPython does not say where).
"""

import ast
import json
import os
import subprocess
import sysconfig
import warnings
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TOOL = Path(os.environ.get("ASSAY_BUILD_DIR", ROOT / "build/release")) / "bin/assay_lint_tree"
STDLIB = Path(sysconfig.get_path("stdlib"))

# Every so many files; the whole takes minutes.
STRIDE = 40
# Where the grammar is exercised most.
ALWAYS = ["ast.py", "dataclasses.py", "typing.py", "test/test_grammar.py", "test/test_patma.py",
          "test/test_fstring.py", "test/test_coroutines.py", "test/test_with.py",
          "test/test_except_star.py", "test/test_positional_only_arg.py", "test/test_named_expressions.py"]


class Offsets:
    """Byte offsets of CPython's lines and columns."""

    def __init__(self, source: bytes):
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def of(self, node: ast.AST) -> tuple[int, int]:
        return (self.starts[node.lineno - 1] + node.col_offset,
                self.starts[node.end_lineno - 1] + node.end_col_offset)


def cpythons(source: bytes) -> Counter:
    offsets = Offsets(source)
    found = Counter()

    def visit(node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found["function", name, offsets.of(node)[0]] += 1
            case ast.ClassDef(name=name):
                found["class", name, offsets.of(node)[0]] += 1
            case ast.Call():
                found["call", *offsets.of(node)] += 1
            case ast.Name():
                found["name", *offsets.of(node)] += 1
            case ast.Attribute(attr=attr):
                found["attribute", attr, *offsets.of(node)] += 1
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                found["string", *offsets.of(node)] += 1
                return
            case ast.Import(names=names):
                found["import", *((n.name, n.asname) for n in names)] += 1
            case ast.ImportFrom(module="__future__", level=0):
                pass
            case ast.ImportFrom(module=module, level=level, names=names):
                found["from", level, module, *((n.name, n.asname) for n in names)] += 1
            case ast.match_case(guard=guard, body=body):
                for child in [guard, *body]:
                    if child is not None:
                        visit(child)
                return
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(source))
    return found


def lints(source: bytes, nodes: list) -> Counter:
    found = Counter()
    children = [[] for _ in nodes]
    for index, (_, _, _, parent) in enumerate(nodes):
        if parent >= 0:
            children[parent].append(index)

    def text(index: int) -> str:
        return source[nodes[index][1]:nodes[index][2]].decode()

    def dotted(index: int) -> str:
        return ".".join(text(part) for part in children[index])

    def imported(index: int) -> tuple:
        if nodes[index][0] == "aliased_import":
            path, alias = children[index]
            return dotted(path), text(alias)
        return ("*" if nodes[index][0] == "wildcard_import" else dotted(index)), None

    hidden = set()  # below what is not compared
    for index, (kind, start, end, parent) in enumerate(nodes):
        if parent in hidden or kind in ("interpolation", "case_pattern"):
            hidden.add(index)
            continue
        up = nodes[parent][0] if parent >= 0 else ""
        first = parent >= 0 and children[parent][0] == index
        if kind in ("function", "class"):
            found[kind, text(children[index][0]), start] += 1
        elif kind == "call":
            found["call", start, end] += 1
        elif kind == "attribute":
            found["attribute", text(children[index][-1]), start, end] += 1
        elif kind == "concatenated_string" or (kind == "string" and up != "concatenated_string"):
            found["string", start, end] += 1
        elif kind == "import":
            found["import", *map(imported, children[index])] += 1
        elif kind == "import_from":
            module, *names = children[index]
            level, path = 0, module
            if nodes[module][0] == "relative_import":
                dots, *rest = children[module]
                level, path = text(dots).count("."), rest[0] if rest else None
            found["from", level, dotted(path) if path is not None else None,
                  *map(imported, names)] += 1
        elif kind == "identifier":
            binds = first and up in ("function", "class", "keyword_argument", "default_parameter",
                                     "typed_parameter", "typed_default_parameter")
            word = up in ("dotted_name", "aliased_import", "global", "nonlocal", "parameters",
                          "lambda_parameters", "list_splat_pattern", "dict_splat_pattern") and not (
                up == "list_splat_pattern" and is_target(nodes, parent))
            handler = up == "as_pattern_target" and is_handler(nodes, parent)
            if not (binds or word or handler or (up == "attribute" and not first)):
                found["name", start, end] += 1
    return found


def is_target(nodes: list, splat: int) -> bool:
    """Whether `*name` is assigned to, and no parameter."""
    return nodes[nodes[splat][3]][0] not in ("parameters", "lambda_parameters", "typed_parameter")


def is_handler(nodes: list, target: int) -> bool:
    return nodes[nodes[nodes[target][3]][3]][0] == "except_clause"


def files() -> list[Path]:
    every = sorted(path for path in STDLIB.rglob("*.py") if "site-packages" not in path.parts)
    chosen = [path for path in map(STDLIB.joinpath, ALWAYS) if path.exists()]
    return chosen + [path for path in every[::STRIDE] if path.stat().st_size < 200_000]


def parsed() -> list[tuple[Path, bytes, dict]]:
    assert TOOL.exists(), f"{TOOL} is missing; build the tests"
    chosen = files()
    output = subprocess.run([TOOL], input="".join(f"{path}\n" for path in chosen), text=True,
                            capture_output=True, check=True, timeout=60).stdout
    return [(path, path.read_bytes(), json.loads(line))
            for path, line in zip(chosen, output.splitlines(), strict=True)]


def test_trees_agree_on_the_standard_library():
    warnings.simplefilter("ignore")
    compared = 0
    for path, source, tree in parsed():
        try:
            expected = cpythons(source)
        except SyntaxError as error:
            if "unicode" not in str(error) and "encoding" not in str(error):
                assert tree["error"], f"{path}: CPython refuses it: {error}"
            continue
        if b"\f" in source or b"coding" in source.split(b"\n")[0]:
            continue  # ast's columns are of other lines, or of the recoded text
        assert tree["error"] == 0, f"{path}:{tree['error']}: refused"
        found = lints(source, tree["nodes"])
        assert found == expected, f"{path}: only CPython: {[*(expected - found)][:5]}, " \
                                  f"only lint: {[*(found - expected)][:5]}"
        compared += sum(found.values())
    assert compared > 50_000


@pytest.mark.parametrize("damage", ["x = (1,\n", "x = 'a\n", "print x\n", "if x\n", "  x\n", "x = )\n",
                                    "def f(:\n", "x = = 1\n", "else:\n", "return (\n", "f'{'\n"])
def test_a_damaged_line_is_refused_like_by_cpython(damage, tmp_path):
    before, after = "import a\n\n", "\ndef g():\n    return a.b(1)\n"
    path = tmp_path / "damaged.py"
    path.write_text(before + damage + after)
    with pytest.raises(SyntaxError) as refused:
        ast.parse(path.read_text())
    output = subprocess.run([TOOL], input=f"{path}\n", text=True, capture_output=True, check=True).stdout
    tree = json.loads(output)
    assert abs(tree["error"] - refused.value.lineno) <= 1
    kinds = [node[0] for node in tree["nodes"]]
    assert "import" in kinds and "function" in kinds and "call" in kinds
