"""Submissions as files, and engines that judge many of them at once.

A submission under `submissions/` says in its docstring what it does and, in `key: value` lines, what
verdict is right:

    status: incorrect               the verdict's status; `a|b` where more than one is right
    error: mismatch values          error.kind and, if given, error.name; alternatives with `|`
    stage: check                    error.stage
    says: regular expression        to be found in error.message or feedback
    flags: output_reused            flags that must be there (`flags.cpu:` only on that device)
    weights: copied                 correctness.weights
    task: linear                    a file under tasks/ (default: relu)
    device: cuda                    only there (default: both)
    needs: g++ ninja                programs without which it is skipped
    run: timed                      which engine judges it, see RUNS (default: checks)
    destructive: yes                an honest submission is judged after it and must be correct
    not_faster_than: costly_timed   if correct and timed, its speedup is no better than that one's
    at_most: 1.1                   if correct and timed, its speedup is no more than that
    known: why                      the engine gets it wrong so far; strict, so that a mended one shows
    outside: finds                  a probe: outside the sandbox its look() finds something

The line that an error must name is marked with `# <- the line`.
"""

import functools
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
DEVICE = os.environ.get("ASSAY_TEST_DEVICE", "cpu")
assert DEVICE in ("cpu", "cuda"), "ASSAY_TEST_DEVICE is cpu or cuda"

# One engine each. Starting one costs seconds, so whatever can share one does.
RUNS = {
    "checks": ["--no-time"],
    "timed": [],
    "profiled": ["--profile", "--ghost"],
    # Long enough for an honest control on a busy machine; each endless submission costs this long.
    "deadline": ["--no-time", "--load-timeout", "6", "--call-timeout", "6"],
    "memory": ["--no-time", "--memory-limit", "3GB" if DEVICE == "cuda" else "1536MB"],
}
JOBS = "8" if DEVICE == "cuda" else "2"
ENGINE_TIMEOUT_S = 900  # a hang, not a slow machine
MARKED = re.compile(r"(#|//) <- the line\s*$")

FAULTS = {
    "correct": "none",
    "rejected_cheat": "integrity",
    "infra_error": "infrastructure",
    "cancelled": "none",
}  # every other status is the candidate's fault


@dataclass
class Submission:
    path: Path
    source: str
    header: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.stem

    def get(self, key: str, default: str = "") -> str:
        return self.header.get(f"{key}.{DEVICE}", self.header.get(key, default))

    @property
    def run(self) -> str:
        return self.get("run", "checks")

    @property
    def destructive(self) -> bool:
        return self.get("destructive") == "yes"

    @property
    def line(self) -> int:
        """The marked line, 0 without a mark."""
        marked = [i for i, text in enumerate(self.source.splitlines(), 1) if MARKED.search(text)]
        return marked[0] if marked else 0

    def why_not_here(self) -> str:
        if self.get("device", DEVICE) != DEVICE:
            return f"for {self.get('device')} only"
        missing = [program for program in self.get("needs").split() if not shutil.which(program)]
        return f"needs {' and '.join(missing)}" if missing else ""


@functools.cache
def submissions() -> dict[str, Submission]:
    """All of them by name."""
    found = {}
    for path in sorted((HERE / "submissions").glob("*/*.py")):
        source = path.read_text()
        docstring = re.match(r'"""(.*?)"""', source, re.S)
        header = dict(re.findall(r"^([a-z_.]+): (.+)$", docstring[1], re.M)) if docstring else {}
        assert header.get("status"), f"{path} does not say which status is right"
        assert header.get("run", "checks") in RUNS, f"{path}: no such run"
        assert path.stem not in found, f"{path}: the name is taken"
        found[path.stem] = Submission(path, source, header)
    return found


def task_path(name: str) -> str:
    return str(HERE / "tasks" / f"{name}.py")


def line_of(identifier: str, source: str, task: str = "relu") -> dict:
    """A line of a batch."""
    return {"id": identifier, "task": task_path(task), "source": source}


HONEST = (HERE / "submissions/honest/torch_relu.py").read_text()


def control_of(submission: Submission) -> str:
    return f"after-{submission.name}"


class Batches:
    """Judges the wanted submissions of a run when the first of them is asked for."""

    def __init__(self, binary: Path, folder: Path, wanted: list[Submission], substitutions: dict[str, str],
                 key_file: Path):
        self.binary, self.folder, self.wanted = binary, folder, wanted
        self.substitutions, self.key_file = substitutions, key_file
        self.done: dict[str, dict[str, dict]] = {}

    def source(self, submission: Submission) -> str:
        text = submission.source
        for name, value in self.substitutions.items():
            text = text.replace(f"@{name}@", value)
        return text

    def verdicts(self, run: str) -> dict[str, dict]:
        if run not in self.done:
            self.done[run] = self._judge(run)
        return self.done[run]

    def _judge(self, run: str) -> dict[str, dict]:
        lines = []
        for submission in self.wanted:
            if submission.run != run:
                continue
            lines.append(line_of(submission.name, self.source(submission), submission.get("task", "relu")))
            if submission.destructive:
                lines.append(line_of(control_of(submission), HONEST))
        batch = self.folder / f"{run}.jsonl"
        batch.write_text("".join(json.dumps(line) + "\n" for line in lines))
        output = self.folder / f"{run}.verdicts.jsonl"
        done = subprocess.run(
            [self.binary, "eval", "--device", DEVICE, "--batch", batch, "--jobs", JOBS, "--output", output, "--full",
             "--secret-file", self.key_file, *RUNS[run]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ENGINE_TIMEOUT_S, check=False)
        assert done.returncode in (0, 3), done.stderr
        verdicts = read_verdicts(output)
        assert set(verdicts) == {line["id"] for line in lines}, done.stderr
        assert (done.returncode == 3) == any(v["status"] == "infra_error" for v in verdicts.values()), done.stderr
        return verdicts


def read_verdicts(path: Path) -> dict[str, dict]:
    """The verdicts in a file, each id once."""
    verdicts = {}
    for text in path.read_text().splitlines():
        verdict = json.loads(text)
        assert verdict["id"] not in verdicts, f"two verdicts of {verdict['id']}"
        verdicts[verdict["id"]] = verdict
    return verdicts


def brief(verdict: dict) -> str:
    """What a failed assertion should show of a verdict."""
    kept = {key: verdict[key] for key in ("id", "status", "fault", "stage", "error", "flags", "timing", "phases_ms")}
    return json.dumps(kept, indent=1)[:6000] + "\nstderr: " + verdict.get("stderr", "")[-1500:]


def check_header(submission: Submission, verdict: dict) -> None:
    """The verdict is the one that the header calls right."""
    shown = brief(verdict)
    error = verdict["error"] or {"kind": "", "name": "", "stage": "", "message": "", "line": 0}
    assert verdict["status"] in submission.get("status").split("|"), shown
    assert verdict["fault"] == FAULTS.get(verdict["status"], "candidate"), shown
    assert verdict["correct"] == (verdict["status"] == "correct"), shown
    if wanted := submission.get("error"):
        alternatives = [tuple(part.split()) for part in wanted.split("|")]
        assert any((error["kind"], error["name"])[: len(pair)] == pair for pair in alternatives), shown
    if wanted := submission.get("stage"):
        assert error["stage"] == wanted, shown
    if wanted := submission.get("says"):
        assert re.search(wanted, error["message"] + "\n" + verdict["feedback"]), shown
    if submission.line:
        assert error["line"] == submission.line, f"expected line {submission.line}\n{shown}"
    for flag in submission.get("flags").split():
        assert flag in verdict["flags"], shown
    if (most := submission.get("at_most")) and verdict["correct"]:
        assert verdict["timing"]["speedup"]["value"] <= float(most), shown
    if wanted := submission.get("weights"):
        assert verdict["correctness"]["weights"] == wanted, shown


def selected(session: pytest.Session) -> list[Submission]:
    """The submissions that the collected tests ask for, each once, in order."""
    names = {}
    for item in session.items:
        callspec = getattr(item, "callspec", None)
        submission = callspec.params.get("submission") if callspec else None
        if isinstance(submission, Submission) and not submission.why_not_here():
            names[submission.name] = submission
    for submission in list(names.values()):  # what others are measured against
        if other := submission.get("not_faster_than"):
            names.setdefault(other, submissions()[other])
    return list(names.values())
