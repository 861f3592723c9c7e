"""Judging over plain HTTP, one request a submission: for reward functions that hold no episode."""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from .models import KernelObservation


class EvaluationError(RuntimeError):
    """The server refused a request; the message says why."""


def key_of(url: str, api_key: Optional[str] = None) -> Optional[str]:
    """The key to send beside the URL: `api_key`, else the variable KERNEL_ENV_API_KEY; None where the URL has
    one (http://any:KEY@host) or there is none."""
    if api_key is None and "@" not in urllib.parse.urlsplit(url).netloc:
        api_key = os.environ.get("KERNEL_ENV_API_KEY")
    return api_key or None


def with_key(url: str, key: str) -> str:
    """The URL with the key in it, for clients that send no headers of ours."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"any:{urllib.parse.quote(key, safe='')}@{host}").geturl()


def address(url: str, api_key: Optional[str] = None) -> tuple[str, dict[str, str]]:
    """The URL without a key, which urllib does not know and no error's message should hold, and the header
    that carries it."""
    key = key_of(url, api_key)
    parts = urllib.parse.urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    url = parts._replace(netloc=host).geturl()
    if key:
        return url, {"Authorization": f"Bearer {key}"}
    if not user:
        return url, {}
    encoded = base64.b64encode(urllib.parse.unquote(user).encode()).decode()
    return url, {"Authorization": f"Basic {encoded}"}


def evaluate_payload(base_url: str, task_id: str, code: str, *, check: bool = False,
                     entry_point: str = "ModelNew", timeout_s: float = 600.0, api_key: Optional[str] = None,
                     headers: Optional[Mapping[str, str]] = None) -> dict[str, Any]:
    """The server's reply as it came: {"observation", "reward", "done"}."""
    base_url, key = address(base_url, api_key)
    headers = {**key, **(headers or {})}
    action: dict[str, Any] = {"task_id": task_id, "code": code, "entry_point": entry_point}
    if check:
        action["op"] = "check"
    deadline = time.monotonic() + timeout_s
    while True:
        reply = _post(base_url.rstrip("/") + "/step", {"action": action}, deadline, headers)
        observation = reply["observation"]
        if observation["status"] != "queued":
            return reply
        # The server answers before clients give up; the ticket is good for the verdict.
        action = {"op": "poll", "ticket": observation["ticket"], "code": ""}


def evaluate(base_url: str, task_id: str, code: str, **options: Any) -> "KernelObservation":
    """Judges `code` for a task. Options: check, entry_point, timeout_s, api_key, headers."""
    from .models import KernelObservation

    reply = evaluate_payload(base_url, task_id, code, **options)
    known = {key: value for key, value in reply["observation"].items() if key in KernelObservation.model_fields}
    return KernelObservation(**{**known, "reward": reply["reward"], "done": reply["done"]})


def _post(url: str, body: dict[str, Any], deadline: float, headers: Mapping[str, str]) -> dict[str, Any]:
    data = json.dumps(body).encode()
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
