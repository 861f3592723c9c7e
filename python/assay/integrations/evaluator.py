"""Judging submissions from a trainer: one protocol, two ways to reach Assay, standard library only.

    evaluator = make_evaluator("http://judge:8000")          # assay serve
    evaluator = make_evaluator("command", device="cuda:0")   # assay eval on this machine
    verdicts = evaluator.evaluate([Submission(source, task_id="assay/relu")])

A verdict is an assay.verdict/1 document. What the evaluator's own machinery did wrong (a server that
stays away, a killed program) is no verdict on anybody: it comes back as unavailable(), which has the
status infra_error, so that trainers mask it like any infrastructure fault. What no repetition mends
(an unknown task, a wrong key) raises EvaluatorError.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

Verdict = dict[str, Any]


class EvaluatorError(RuntimeError):
    """The request itself cannot be served; the message says what to change."""


@dataclass(frozen=True)
class Submission:
    """A Python module that defines `submission_entry`, for a registered task or for a reference module
    in KernelBench's format. `options` are the server's (how to judge); the command takes `trials` and
    `time` of them."""

    source: str
    task_id: str = ""
    task_source: str = ""
    entry: str = "Model"
    submission_entry: str = "ModelNew"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.task_id) == bool(self.task_source):
            raise EvaluatorError("a submission names a task: give either task_id or task_source")


class Evaluator(Protocol):
    """Judges; safe to call from several threads."""

    #: Whether many submissions in one call are cheaper than as many calls.
    batches: bool

    def evaluate(self, submissions: Sequence[Submission]) -> list[Verdict]:
        """One verdict per submission, in order; blocks until the last one is there."""
        ...


def unavailable(reason: str) -> Verdict:
    """In place of a verdict when there is none; it carries no schema, as it is not one."""
    return {
        "status": "infra_error",
        "fault": "infrastructure",
        "compiled": False,
        "correct": False,
        "flags": [],
        "error": {"kind": "infrastructure", "stage": "verdict", "name": "evaluator", "message": reason},
        "feedback": "The submission could not be judged; this is not its fault.",
    }


def make_evaluator(where: str, **options: Any) -> Evaluator:
    """"command" (assay eval), or the address of a server; options are the class's."""
    if where.startswith(("http://", "https://")):
        return ServerEvaluator(where, **options)
    if where == "command":
        return CommandEvaluator(**options)
    raise EvaluatorError(f"no evaluator {where!r}; use 'command' or the server's http(s) address")


class CommandEvaluator:
    """`assay eval --batch`: a fresh engine per call, which costs some seconds; give it batches."""

    batches = True

    def __init__(
        self,
        *,
        program: str | None = None,
        python: str | None = None,
        device: str = "auto",
        jobs: int = 1,
        tasks: Sequence[str] = (),
        arguments: Sequence[str] = (),
        timeout_s: float | None = None,
    ) -> None:
        """program: default $ASSAY_PROGRAM, else `assay` on the path; python: the interpreter that judges;
        tasks: sources besides the built-in ones; timeout_s: of a whole call, then what is not judged is
        unavailable()."""
        found = program or os.environ.get("ASSAY_PROGRAM") or "assay"
        self._program = shutil.which(found)
        if self._program is None:
            raise EvaluatorError(f"no program {found!r}: install Assay's wheel or set ASSAY_PROGRAM")
        self._arguments = ["--device", device, "--jobs", str(jobs)]
        if python is not None:
            self._arguments += ["--python", python]
        if tasks:
            for source in ("builtin", *tasks):
                self._arguments += ["--tasks", source]
        self._arguments += arguments
        self._timeout_s = timeout_s

    def evaluate(self, submissions: Sequence[Submission]) -> list[Verdict]:
        verdicts: list[Verdict | None] = [None] * len(submissions)
        by_flags: dict[tuple[str, ...], list[int]] = {}
        for number, submission in enumerate(submissions):
            by_flags.setdefault(self._flags(submission), []).append(number)
        for flags, numbers in by_flags.items():
            with tempfile.TemporaryDirectory(prefix="assay-eval-") as folder:
                judged = self._run(pathlib.Path(folder), flags, {n: submissions[n] for n in numbers})
            for n in numbers:
                verdicts[n] = judged.get(n) or unavailable("assay eval ended without this verdict")
        return verdicts

    @staticmethod
    def _flags(submission: Submission) -> tuple[str, ...]:
        options = dict(submission.options)
        flags: list[str] = []
        if not options.pop("time", True):
            flags.append("--no-time")
        if "trials" in options:
            flags += ["--trials", str(options.pop("trials"))]
        if options:
            raise EvaluatorError(f"assay eval has no option {', '.join(options)}; it takes trials and time")
        if (submission.entry, submission.submission_entry) != ("Model", "ModelNew"):
            raise EvaluatorError("assay eval judges the classes Model and ModelNew; use a server for others")
        return tuple(flags)

    def _run(
        self, folder: pathlib.Path, flags: Sequence[str], submissions: Mapping[int, Submission]
    ) -> dict[int, Verdict]:
        lines = []
        for number, submission in submissions.items():
            task = submission.task_id
            if submission.task_source:
                digest = hashlib.sha256(submission.task_source.encode()).hexdigest()[:16]
                path = folder / f"task_{digest}.py"
                path.write_text(submission.task_source, encoding="utf-8")
                task = str(path)
            lines.append(json.dumps({"id": str(number), "task": task, "source": submission.source}))
        batch = folder / "batch.jsonl"
        batch.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [self._program, "eval", *self._arguments, *flags, "--batch", str(batch)]
        with (folder / "verdicts").open("w+b") as out, (folder / "said").open("w+b") as said:
            # A session of its own, so that nothing of it survives a timeout.
            process = subprocess.Popen(command, stdout=out, stderr=said, start_new_session=True)
            try:
                code: int | None = process.wait(self._timeout_s)
            except BaseException as stopped:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(stopped, subprocess.TimeoutExpired):
                    raise
                code = None
            if code == 2:
                said.seek(0)
                raise EvaluatorError(said.read().decode(errors="replace").strip()[-2000:])
            out.seek(0)
            judged = {}
            for line in out:
                if line.endswith(b"\n"):  # else it was killed while writing
                    verdict = json.loads(line)
                    judged[int(verdict["id"])] = verdict
            return judged


class ServerEvaluator:
    """`assay serve` over its native API. A submission is sent under an idempotency key, so that one that
    is sent again after a lost reply is judged once."""

    batches = False

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        concurrency: int = 32,
        wait_s: float = 25.0,
        timeout_s: float = 1800.0,
        patience_s: float = 300.0,
    ) -> None:
        """key: default $ASSAY_API_KEY; wait_s: of one long poll; timeout_s: of one submission from its
        acceptance, then it is cancelled and unavailable(); patience_s: how long a server may be full or
        out of reach."""
        self._url = url.rstrip("/")
        self._key = key if key is not None else os.environ.get("ASSAY_API_KEY")
        self._wait_s = wait_s
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="assay-evaluator")

    def evaluate(self, submissions: Sequence[Submission]) -> list[Verdict]:
        return list(self._pool.map(self._judge, submissions))

    def _judge(self, submission: Submission) -> Verdict:
        body = {
            "source": submission.source,
            "entry": submission.entry,
            "submission_entry": submission.submission_entry,
            "options": dict(submission.options),
        }
        named = "task_id" if submission.task_id else "task_source"
        body[named] = submission.task_id or submission.task_source
        try:
            job = self._ask("POST", f"/v1/submissions?wait={self._wait_s:g}", body, uuid.uuid4().hex)
            deadline = time.monotonic() + self._timeout_s
            while (verdict := self._verdict(job)) is None:
                path = "/v1/submissions/" + urllib.parse.quote(str(job["id"]), safe="")
                left = deadline - time.monotonic()
                if left <= 0:
                    self._ask("DELETE", path)
                    return unavailable(f"no verdict within {self._timeout_s:g} s; cancelled")
                job = self._ask("GET", f"{path}?wait={min(self._wait_s, left):g}")
            return verdict
        except _Unreachable as error:
            return unavailable(str(error))

    @staticmethod
    def _verdict(job: Mapping[str, Any]) -> Verdict | None:
        if str(job.get("schema", "")).startswith("assay.verdict/"):
            return dict(job)
        verdict = job.get("verdict")
        if verdict:
            return verdict
        if job.get("id") in (None, ""):
            raise EvaluatorError(f"the server's reply is neither a verdict nor a job: {str(job)[:300]}")
        return None

    def _ask(self, method: str, path: str, body: Any = None, idempotency: str | None = None) -> Verdict:
        """One request; full and absent servers are asked again until patience ends."""
        deadline = time.monotonic() + self._patience_s
        pause = 0.2
        while True:
            try:
                return self._once(method, path, body, idempotency)
            except _Unreachable as error:
                pause = min(max(pause * 2, error.retry_after), 30.0)
                if time.monotonic() + pause > deadline:
                    raise
                time.sleep(pause)

    def _once(self, method: str, path: str, body: Any, idempotency: str | None) -> Verdict:
        headers = {"Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if idempotency:
            headers["Idempotency-Key"] = idempotency
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self._wait_s + 30) as reply:
                text = reply.read()
        except urllib.error.HTTPError as error:
            said = error.read(4096).decode(errors="replace").strip()
            message = f"{method} {path}: {error.code} {said}"
            if error.code in (429, 500, 502, 503, 504):
                raise _Unreachable(message, _seconds(error.headers.get("Retry-After"))) from None
            raise EvaluatorError(message) from None
        # Refused, reset, timed out, no such host; or a reply that ended early.
        except (OSError, http.client.HTTPException) as error:
            raise _Unreachable(f"{method} {self._url}: {error}") from None
        try:
            document = json.loads(text) if text.strip() else {}
        except ValueError:
            raise EvaluatorError(f"{method} {path}: the reply is not JSON; is {self._url} Assay's?") from None
        if not isinstance(document, dict):
            raise EvaluatorError(f"{method} {path}: the reply is no object; is {self._url} Assay's?")
        return document


class _Unreachable(Exception):
    """May work later."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header or 0))
    except ValueError:  # a date: then the doubling pause decides
        return 0.0


class Judge:
    """An evaluator for coroutines. Submissions that wait while a batching evaluator works go together
    into its next call; others run side by side.

        verdict = await judge(submission)
    """

    def __init__(self, evaluator: Evaluator, *, gather_s: float = 0.05) -> None:
        """gather_s: how long the first submission of a batch waits for company."""
        self._evaluator = evaluator
        self._gather_s = gather_s
        threads = 1 if evaluator.batches else 64
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="assay-judge")
        self._waiting: list[tuple[Submission, asyncio.Future]] = []
        self._running: asyncio.Task | None = None

    async def __call__(self, submission: Submission) -> Verdict:
        if not self._evaluator.batches:
            return (await self._evaluate([submission]))[0]
        done: asyncio.Future = asyncio.get_running_loop().create_future()
        self._waiting.append((submission, done))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._drain())
        return await done

    async def _evaluate(self, submissions: list[Submission]) -> list[Verdict]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._evaluator.evaluate, submissions)

    async def _drain(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._gather_s)
            batch, self._waiting = self._waiting, []
            try:
                verdicts = await self._evaluate([s for s, _ in batch])
            except Exception as error:  # each of them asked; the loop goes on for later ones
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
                continue
            for (_, done), verdict in zip(batch, verdicts):
                if not done.done():  # else its conversation was cancelled
                    done.set_result(verdict)


def settings_from_environment() -> dict[str, Any]:
    """The evaluator that $ASSAY_EVALUATOR names: "command", an address, or a JSON object of both and
    options; "command" if it is not set."""
    said = os.environ.get("ASSAY_EVALUATOR", "")
    return json.loads(said) if said.startswith("{") else {"where": said or "command"}


_judges: dict[str, tuple[asyncio.AbstractEventLoop, Judge]] = {}
_judges_lock = threading.Lock()


def shared_judge(settings: Mapping[str, Any]) -> Judge:
    """The judge of this event loop for these settings: {"where": "command" or an address, …options of
    the evaluator}. Trainers make an object per conversation; the engine must be shared by all."""
    loop = asyncio.get_running_loop()
    key = json.dumps(settings, sort_keys=True, default=str)
    with _judges_lock:
        found = _judges.get(key)
        if found is None or found[0] is not loop:
            options = dict(settings)
            found = (loop, Judge(make_evaluator(options.pop("where", "command"), **options)))
            _judges[key] = found
        return found[1]
