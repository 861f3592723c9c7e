"""Judging over plain HTTP, one request a submission: for reward functions that hold no episode."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from .models import KernelObservation


class EvaluationError(RuntimeError):
    """The server refused a request; the message says why."""


def evaluate_payload(base_url: str, task_id: str, code: str, *, check: bool = False,
                     entry_point: str = "ModelNew", timeout_s: float = 600.0,
                     headers: Optional[Mapping[str, str]] = None) -> dict[str, Any]:
    """The server's reply as it came: {"observation", "reward", "done"}."""
    action: dict[str, Any] = {"task_id": task_id, "code": code, "entry_point": entry_point}
    if check:
        action["op"] = "check"
    deadline = time.monotonic() + timeout_s
    while True:
        reply = _post(base_url.rstrip("/") + "/step", {"action": action}, deadline, headers or {})
        observation = reply["observation"]
        if observation["status"] != "queued":
            return reply
        # The server answers before clients give up; the ticket is good for the verdict.
        action = {"op": "poll", "ticket": observation["ticket"], "code": ""}


def evaluate(base_url: str, task_id: str, code: str, **options: Any) -> "KernelObservation":
    """Judges `code` for a task. Options: check, entry_point, timeout_s, headers."""
    from .models import KernelObservation

    reply = evaluate_payload(base_url, task_id, code, **options)
    known = {key: value for key, value in reply["observation"].items() if key in KernelObservation.model_fields}
    return KernelObservation(**{**known, "reward": reply["reward"], "done": reply["done"]})


def _post(url: str, body: dict[str, Any], deadline: float, headers: Mapping[str, str]) -> dict[str, Any]:
    data = json.dumps(body).encode()
    parts = urllib.parse.urlsplit(url)
    if "@" in parts.netloc:  # urllib does not know these; and an error's message should not hold a key
        user, _, host = parts.netloc.rpartition("@")
        url = parts._replace(netloc=host).geturl()
        encoded = base64.b64encode(urllib.parse.unquote(user).encode()).decode()
        headers = {"Authorization": f"Basic {encoded}", **headers}
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{url}: no verdict in time")
        request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=min(left, 90)) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            wait = error.headers.get("Retry-After", "")
            if error.code in (429, 503) and wait.isdigit() and int(wait) < deadline - time.monotonic():
                time.sleep(int(wait))
                continue
            raise EvaluationError(f"{url}: {error.code}: {error.read(4096).decode(errors='replace')}") from None
