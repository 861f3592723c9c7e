"""The client: OpenEnv's, with typed messages, tickets, and episodes that outlive a connection."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from typing import Any, Optional, Sequence

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State as SocketState

from . import http
from .models import KernelAction, KernelObservation, KernelState
from .providers import GpuDockerProvider

__all__ = ["KernelAction", "KernelEnv", "KernelObservation", "KernelState"]

_ACCEPTED = set(inspect.signature(EnvClient.__init__).parameters)
_RESULT_HAS_METADATA = "metadata" in StepResult.__dataclass_fields__
_LOST = (ConnectionClosed, ConnectionError, OSError)


class KernelEnv(EnvClient[KernelAction, KernelObservation, KernelState]):
    """A session of a Kernel Env server. Asynchronous; `.sync()` gives the blocking form.

    base_url: of the server, "http://host:8000".
    api_key: where the server wants one; None: that of the URL (http://any:KEY@host) or of the variable
        KERNEL_ENV_API_KEY.
    wait: step() asks on until there is a verdict; without it a long judgement is returned as
        status "queued" with a ticket, as the server answers before its deadline.
    reconnect_s: for so long a lost connection is made anew and the episode resumed; a step that was
        under way is not judged twice. 0: the loss is raised.

    Other arguments are EnvClient's; those that the installed release does not know are refused.
    """

    def __init__(self, base_url: Optional[str] = None, *, message_timeout_s: float = 300.0,
                 api_key: Optional[str] = None, wait: bool = True, reconnect_s: float = 60.0,
                 **options: Any):
        if base_url is not None and (key := http.key_of(base_url, api_key)):
            if "headers" in _ACCEPTED:
                options["headers"] = {"Authorization": f"Bearer {key}", **(options.get("headers") or {})}
            else:  # an older release
                base_url = http.with_key(base_url, key)
        options = {key: value for key, value in options.items() if value is not None or key in _ACCEPTED}
        if unknown := set(options) - _ACCEPTED:
            raise TypeError(f"the installed openenv's client does not take {sorted(unknown)}; a newer one may")
        if base_url is not None or "provider" not in options:
            options["base_url"] = base_url
        super().__init__(message_timeout_s=message_timeout_s, **options)
        self._headers_sent = dict(options.get("headers") or {})
        self._wait = wait
        self._reconnect_s = reconnect_s
        self._token: Optional[str] = None  # of the episode that is going on
        self._home: Any = None  # the socket on which the server knows that episode
        self._progress: Any = None  # (turn, checks left) of the last reply
        self._tickets: set[str] = set()  # that replies of this episode have named
        # Verdicts by ticket: what only a resume's reply has told, None once the caller has it.
        self._told: dict[str, Optional[dict[str, Any]]] = {}

    @classmethod
    def from_docker_image(cls, image: str, provider: Any = None, **kwargs: Any) -> Any:
        """As EnvClient's, but with the host's GPUs in the container."""
        return super().from_docker_image(image, provider=provider or GpuDockerProvider(), **kwargs)

    # What OpenEnv's client asks of its subclasses.

    def _step_payload(self, action: KernelAction | dict[str, Any] | str) -> dict[str, Any]:
        if isinstance(action, str):
            return {"code": action}
        if isinstance(action, dict):
            return action
        return {"code": action.code, **action.model_dump(exclude_defaults=True)}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[KernelObservation]:
        fields = payload.get("observation") or {}
        known = {key: value for key, value in fields.items() if key in KernelObservation.model_fields}
        known["metadata"] = payload.get("metadata") or fields.get("metadata") or {}
        known["reward"], known["done"] = payload.get("reward"), bool(payload.get("done", False))
        observation = KernelObservation(**known)
        extra = {"metadata": observation.metadata} if _RESULT_HAS_METADATA else {}
        return StepResult(observation=observation, reward=observation.reward, done=observation.done, **extra)

    def _parse_state(self, payload: dict[str, Any]) -> KernelState:
        return KernelState(**payload)

    # One exchange, and what happens when it does not go as it should.

    async def connect(self) -> "KernelEnv":
        try:
            return await super().connect()
        except ConnectionError as error:  # its message has the whole URL
            bare = http.address(self._ws_url)[0]
            raise ConnectionError(str(error).replace(self._ws_url, bare)) from error.__cause__

    async def _receive(self) -> dict[str, Any]:
        try:
            return await super()._receive()
        except (asyncio.TimeoutError, asyncio.CancelledError):
            # The late reply would be taken for the next one's; newer clients do this themselves.
            socket, self._ws = self._ws, None
            if socket is not None:
                _close_later(socket)
            raise

    async def _send_and_receive(self, message: dict[str, Any]) -> dict[str, Any]:
        kind = message.get("type")
        if kind not in ("reset", "step", "state"):
            return await super()._send_and_receive(message)
        resume = (message.get("data") or {}).get("resume")
        if kind == "reset" and (not resume or resume != self._token):
            self._token = None
            self._tickets.clear()
            self._told.clear()
        attempt = 0
        sent = False
        question = message
        before = self._progress
        deadline = time.monotonic() + self._reconnect_s
        while True:
            try:
                resumed = await self._go_home()
                if resumed is not None:
                    if sent and _has_code(question) and _progress_of(resumed) != before:
                        question = await self._poll_of_lost() or question
                    before = _progress_of(resumed)
                reply = self._what_was_told(question)
                if reply is None:
                    sent = True
                    reply = await super()._send_and_receive(question)
                taken = not _has_code(question) or not self._names_another(reply)
                self._remember(kind, reply)
                return await self._wait_for_verdict(message, reply) if kind == "step" and taken else reply
            except asyncio.TimeoutError:
                raise  # an OSError too, but the server is there: the caller's patience ended
            except _LOST:
                if kind != "reset" and self._token is None:
                    raise
                attempt += 1
                pause = min(2.0, 0.1 * 2**attempt) * (0.5 + random.random() / 2)
                if time.monotonic() + pause > deadline:
                    raise
                self._ws = None
                await asyncio.sleep(pause)

    async def _go_home(self) -> Optional[dict[str, Any]]:
        """Connects; on a socket that does not know the episode, resumes it and returns the reply."""
        self._drop_closed_socket()
        await self._ensure_connected()
        if self._token is None or self._ws is self._home:
            return None
        reply = await super()._send_and_receive({"type": "reset", "data": {"resume": self._token}})
        self._home = self._ws
        if ticket := _judged_ticket(reply):  # paid here, and maybe another's than is asked for next
            self._told.setdefault(ticket, reply)
        return reply

    async def _poll_of_lost(self) -> Optional[dict[str, Any]]:
        """A poll of the submission whose reply was lost; None if the last one is of an earlier reply."""
        state = await super()._send_and_receive({"type": "state"})
        ticket = (state.get("data") or {}).get("last_ticket")
        return None if ticket is None or ticket in self._tickets else _poll(ticket)

    def _what_was_told(self, question: dict[str, Any]) -> Optional[dict[str, Any]]:
        """The verdict that is asked for, if a resume's reply had it."""
        action = question.get("data") or {}
        if question.get("type") != "step" or action.get("op") not in ("poll", "cancel"):
            return None
        if ticket := action.get("ticket"):
            return self._told.get(ticket)
        return next(filter(None, self._told.values()), None) if action["op"] == "poll" else None

    def _names_another(self, reply: dict[str, Any]) -> bool:
        """Whether a submission was not taken: the server names one that has the last turn."""
        observation = _observation_of(reply)
        return observation.get("status") == "queued" and observation.get("ticket") in self._tickets

    def _drop_closed_socket(self) -> None:
        if self._ws is not None and self._ws.state in (SocketState.CLOSING, SocketState.CLOSED):
            self._ws = None

    def _remember(self, kind: str, reply: dict[str, Any]) -> None:
        if kind == "state":
            return
        observation = _observation_of(reply)
        if kind == "reset":
            self._token = observation.get("episode_token")
            self._home = self._ws
        if ticket := observation.get("ticket"):
            self._tickets.add(ticket)
        if ticket := _judged_ticket(reply):
            if self._told.get(ticket, reply) is None:
                # To the server the first reply may look lost with its connection, and it pays again.
                reply["data"]["reward"] = 0.0
                observation["flags"] = sorted({*observation.get("flags", ()), "already_reported"})
            self._told[ticket] = None
        self._progress = _progress_of(reply)

    async def _wait_for_verdict(self, message: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        action = message.get("data") or {}
        if not self._wait or action.get("defer") or action.get("op") in ("poll", "cancel"):
            return reply
        while True:
            observation = _observation_of(reply)
            if observation.get("status") != "queued" or not observation.get("ticket"):
                return reply
            reply = await self._send_and_receive(_poll(observation["ticket"]))

    # Beyond OpenEnv's client.

    async def submit_many(self, codes: Sequence[str], *, check: bool = False) -> list[StepResult[KernelObservation]]:
        """Submits all at once over this connection and returns their results in the same order.

        They are judged side by side. The episode needs as many turns: reset(max_turns=len(codes)). What it
        has no turn for is not judged and has the status "queued" or "episode_over".
        """
        op = "check" if check else "submit"
        answers = []
        for code in codes:
            earlier = set(self._tickets)
            result = await self._exchange({"code": code, "op": op, "defer": True})
            answers.append((result, result.observation.ticket not in earlier))
        results = []
        for result, taken in answers:
            while taken and result.observation.status == "queued":
                result = await self.poll(result.observation.ticket)
            results.append(result)
        return results

    async def _exchange(self, action: dict[str, Any]) -> StepResult[KernelObservation]:
        reply = await self._send_and_receive({"type": "step", "data": action})
        return self._parse_result(reply.get("data") or {})

    async def poll(self, ticket: Optional[str] = None) -> StepResult[KernelObservation]:
        """The verdict of a deferred submission, or status "queued" again after the server's wait."""
        return await self._exchange({"op": "poll", "code": "", **({"ticket": ticket} if ticket else {})})

    async def cancel(self, ticket: Optional[str] = None) -> StepResult[KernelObservation]:
        """Ends the judging of a deferred submission."""
        return await self._exchange({"op": "cancel", "code": "", **({"ticket": ticket} if ticket else {})})

    async def evaluate(self, task_id: str, code: str, **options: Any) -> StepResult[KernelObservation]:
        """Judges one submission over HTTP, outside of any episode."""
        payload = await asyncio.to_thread(http.evaluate_payload, self.http_url, task_id, code,
                                          headers=self._headers_sent, **options)
        return self._parse_result(payload)

    @property
    def http_url(self) -> str:
        """The server's address for HTTP."""
        address = self._ws_url.removesuffix("/ws")
        return "http" + address.removeprefix("ws")


def _observation_of(reply: dict[str, Any]) -> dict[str, Any]:
    return (reply.get("data") or {}).get("observation") or {}


def _judged_ticket(reply: dict[str, Any]) -> Optional[str]:
    observation = _observation_of(reply)
    return None if observation.get("status") in ("queued", "episode_over") else observation.get("ticket")


def _has_code(message: dict[str, Any]) -> bool:
    return message.get("type") == "step" and (message.get("data") or {}).get("op", "submit") in ("submit", "check")


def _poll(ticket: str) -> dict[str, Any]:
    return {"type": "step", "data": {"op": "poll", "ticket": ticket, "code": ""}}


def _progress_of(reply: dict[str, Any]) -> Any:
    observation = _observation_of(reply)
    return observation.get("turn"), observation.get("checks_left")


def _close_later(socket: Any) -> None:
    async def close() -> None:
        try:
            await socket.close()
        except Exception:  # it is being thrown away
            pass

    task = asyncio.get_running_loop().create_task(close())
    _CLOSING.add(task)
    task.add_done_callback(_CLOSING.discard)


_CLOSING: set[asyncio.Task[None]] = set()
