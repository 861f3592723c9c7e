"""Whatever is killed, every submission gets exactly one right verdict, and nothing is left behind.

The processes of an engine are direct children of the program: the zygote is the oldest, the judge and
the reference live in the program's own pid namespace, candidates in one of their own each.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from engine_harness import DEVICE, HONEST, line_of, read_verdicts, submissions

DEADLINE_S = 300  # for a batch: a hang, not a slow machine
COUNT = 8

# Honest, and slow enough to be met while it works.
SLOW = HONEST.replace("def forward(self, x):", """def __init__(self):
        super().__init__()
        import time
        time.sleep(0.3)

    def forward(self, x):""")


class Process:
    """A process by number and start time, so that a reused number is not taken for it."""

    def __init__(self, pid: int):
        self.pid = pid
        self.started = self._fields()[19]

    def _fields(self) -> list[str]:
        text = Path(f"/proc/{self.pid}/stat").read_text()
        return text[text.rindex(")") + 2:].split()

    def alive(self) -> bool:
        try:
            fields = self._fields()
        except (OSError, ValueError):
            return False
        return fields[19] == self.started and fields[0] not in "ZX"

    def namespace(self) -> str:
        """"" when it may not be known: then it is somebody else's user, a candidate."""
        try:
            return os.readlink(f"/proc/{self.pid}/ns/pid")
        except OSError:
            return ""

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def children(pid: int) -> list[Process]:
    """Direct children, oldest first."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        for number in thread.read_text().split():
            try:
                found.append(Process(int(number)))
            except (OSError, ValueError):
                pass  # ended meanwhile
    return sorted((p for p in found if p.alive()), key=lambda p: (int(p.started), p.pid))


def descendants(pid: int) -> list[Process]:
    found = children(pid)
    for process in found:
        try:
            found += children(process.pid)
        except OSError:
            pass
    return found


class Engine:
    """A running batch of honest submissions."""

    def __init__(self, binary: Path, folder: Path, count: int = COUNT, source: str = SLOW, jobs: int = 2,
                 timed: bool = False):
        self.batch, self.output = folder / "batch.jsonl", folder / "verdicts.jsonl"
        self.ids = [f"honest-{i}" for i in range(count)]
        self.batch.write_text("".join(json.dumps(line_of(i, source + f"# {i}\n")) + "\n" for i in self.ids))
        self.command = [str(binary), "eval", "--device", DEVICE, "--batch", str(self.batch), "--jobs", str(jobs),
                        "--output", str(self.output)] + ([] if timed else ["--no-time"])
        self.stderr = folder / "stderr"
        with self.stderr.open("w") as stderr:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=stderr, start_new_session=True)

    def verdict_count(self) -> int:
        return self.output.read_bytes().count(b"\n") if self.output.exists() else 0

    def wait_for_verdicts(self, count: int) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while self.verdict_count() < count:
            assert self.process.poll() is None, self.stderr.read_text()
            assert time.monotonic() < deadline, f"{self.verdict_count()} verdicts; {self.stderr.read_text()}"
            time.sleep(0.02)

    def zygote(self) -> Process:
        return children(self.process.pid)[0]

    def trusted(self) -> list[Process]:
        """The judge, and once something was timed the reference's process."""
        own = os.readlink(f"/proc/{self.process.pid}/ns/pid")
        return [p for p in children(self.process.pid)[1:] if p.namespace() == own]

    def judge(self) -> Process:
        return self.trusted()[0]

    def candidates(self) -> list[Process]:
        own = os.readlink(f"/proc/{self.process.pid}/ns/pid")
        return [p for p in children(self.process.pid)[1:] if p.namespace() != own]

    def finish(self) -> dict[str, dict]:
        """Waits for the end; every submission has exactly one verdict."""
        try:
            code = self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"hangs with {self.verdict_count()} of {len(self.ids)} verdicts\n{self.stderr.read_text()}")
        verdicts = read_verdicts(self.output)
        assert set(verdicts) == set(self.ids), self.stderr.read_text()
        lost = any(v["status"] == "infra_error" for v in verdicts.values())
        assert code == (3 if lost else 0), self.stderr.read_text()
        return verdicts


@pytest.fixture
def engine(assay_bin, tmp_path):
    started = []

    def start(**options) -> Engine:
        started.append(Engine(assay_bin, tmp_path, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()


def needs_namespaces(running: Engine) -> None:
    if not running.candidates():
        pytest.skip("candidates have no pid namespace here, so they cannot be told from the judge")


def all_right(verdicts: dict[str, dict], stderr: Path) -> None:
    wrong = {i: (v["status"], v["error"]) for i, v in verdicts.items() if v["status"] != "correct"}
    assert not wrong, f"{wrong}\n{stderr.read_text()}"


def test_the_zygote_is_killed(engine):
    running = engine()
    running.wait_for_verdicts(1)
    zygote = running.zygote()
    zygote.kill()
    all_right(running.finish(), running.stderr)
    assert not zygote.alive()


@pytest.mark.parametrize("timed", [False, True], ids=["checks", "times"])
def test_the_judge_is_killed(engine, timed):
    running = engine(timed=timed)
    running.wait_for_verdicts(1)
    needs_namespaces(running)
    running.judge().kill()
    all_right(running.finish(), running.stderr)


def test_the_process_of_the_reference_is_killed(engine):
    running = engine(timed=True)
    running.wait_for_verdicts(1)
    needs_namespaces(running)
    for count in (1, 3, 5):
        running.wait_for_verdicts(count)
        for reference in running.trusted()[1:]:
            reference.kill()
    verdicts = running.finish()
    all_right(verdicts, running.stderr)
    assert all(v["timing"]["candidate_us"] for v in verdicts.values())


def test_the_judge_is_killed_again_and_again(engine):
    """An infrastructure fault is tried once more; what fails twice is infra_error, never the candidate's."""
    running = engine()
    running.wait_for_verdicts(1)
    needs_namespaces(running)
    for _ in range(4):
        try:
            running.judge().kill()
        except (StopIteration, FileNotFoundError, ProcessLookupError):
            pass  # between two judges, or at the end
        time.sleep(0.7)
    verdicts = running.finish()
    assert {v["status"] for v in verdicts.values()} <= {"correct", "infra_error"}, running.stderr.read_text()
    assert {v["fault"] for v in verdicts.values()} <= {"none", "infrastructure"}


def settled(running: Engine, count: int) -> list[Process]:
    """The candidates, oldest first, once `count` of them have been the same for a while: the oldest
    works, the others wait in the pool."""
    deadline = time.monotonic() + DEADLINE_S
    before, since = [], time.monotonic()
    while True:
        assert running.process.poll() is None and time.monotonic() < deadline, running.stderr.read_text()
        now = [p.pid for p in running.candidates()]
        if now != before:
            before, since = now, time.monotonic()
        if len(now) == count and time.monotonic() - since > 1:
            return running.candidates()
        time.sleep(0.05)


# Works long enough for the pool to be full while it does.
SLEEPER = HONEST.replace("import torch", "import time\n\nimport torch\n\ntime.sleep(4)", 1)


def test_waiting_candidates_are_killed(engine):
    """They had not begun: nobody may notice."""
    running = engine(count=4, source=SLEEPER, jobs=1)
    running.wait_for_verdicts(1)
    needs_namespaces(running)
    for candidate in settled(running, 3)[1:]:
        candidate.kill()
    all_right(running.finish(), running.stderr)


def test_a_working_candidate_is_killed(engine):
    """Process 1 of a pid namespace cannot be killed from inside it: this was the kernel's memory killer or
    an operator, an infrastructure fault, and is tried again."""
    running = engine(count=4, source=SLEEPER, jobs=1)
    running.wait_for_verdicts(1)
    needs_namespaces(running)
    settled(running, 3)[0].kill()
    all_right(running.finish(), running.stderr)


def test_everything_below_is_killed_at_once(engine):
    running = engine()
    running.wait_for_verdicts(1)
    for process in children(running.process.pid):
        try:
            process.kill()
        except ProcessLookupError:
            pass
    verdicts = running.finish()
    assert sum(v["status"] == "correct" for v in verdicts.values()) >= COUNT - 2, running.stderr.read_text()


def test_the_program_is_killed_and_started_again(engine):
    """Nothing survives it, and the second run judges the rest, each once."""
    running = engine()
    running.wait_for_verdicts(2)
    family = descendants(running.process.pid)
    assert family
    running.process.kill()
    running.process.wait()
    deadline = time.monotonic() + 20  # seconds on a quiet machine
    while (left := [p.pid for p in family if p.alive()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left]

    finished = running.verdict_count()
    with running.output.open("a") as file:
        file.write('{"schema": "assay.verdict/1", "id": "honest-')  # a line that was half written
    again = subprocess.run(running.command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=DEADLINE_S, check=False)
    assert again.returncode == 0, again.stderr
    assert f"{finished} of {COUNT} submissions are already judged" in again.stderr
    verdicts = read_verdicts(running.output)
    assert set(verdicts) == set(running.ids)
    all_right(verdicts, running.stderr)


def test_an_interrupted_program_leaves_nothing_behind(engine):
    running = engine()
    running.wait_for_verdicts(1)
    family = descendants(running.process.pid)
    os.killpg(running.process.pid, signal.SIGINT)
    running.process.wait(60)
    deadline = time.monotonic() + 20
    while (left := [p.pid for p in family if p.alive()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def test_a_submission_in_a_loop_dies_with_the_program(engine):
    running = engine(count=3, source=submissions()["loop"].source)
    deadline = time.monotonic() + DEADLINE_S
    while len(running.candidates() if running.process.poll() is None else []) < 3:  # two leased, one in the pool
        assert time.monotonic() < deadline and running.process.poll() is None, running.stderr.read_text()
        time.sleep(0.05)
    time.sleep(1)
    family = descendants(running.process.pid)
    running.process.kill()
    running.process.wait()
    deadline = time.monotonic() + 20
    while (left := [p.pid for p in family if p.alive()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def test_a_run_leaves_no_files_behind(run_assay, tmp_path):
    """Neither task sources nor build folders stay in TMPDIR when all went well."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = run_assay("eval", "--device", DEVICE, "--task", Path(__file__).parent / "tasks/relu.py", "--no-time",
                     submissions()["torch_relu"].path, env={**os.environ, "TMPDIR": str(temporary)})
    assert done.returncode == 0, done.stderr
    assert not list(temporary.rglob("*"))
