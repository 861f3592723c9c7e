"""Checks of kernel_env's client when its connection is lost; checks.py runs them."""

from __future__ import annotations

import asyncio
import os
import signal
import urllib.request
from pathlib import Path

RELU = (Path(__file__).resolve().parents[4] / "examples/relu.py").read_text()
TASK = "assay/relu"


def reconnect(url: str) -> None:
    """The connection is cut between two steps and in the middle of one; nothing is judged twice."""
    from kernel_env import KernelEnv

    async def play() -> None:
        async with KernelEnv(url) as env:
            await env.reset(task_id=TASK, max_turns=3, episode_id="ep-cut")
            env._ws.transport.abort()
            await asyncio.sleep(0.05)
            assert (await env.step({"code": RELU})).observation.turn == 1
            step = asyncio.ensure_future(env.step({"code": RELU}))
            await asyncio.sleep(0.15)
            env._ws.transport.abort()
            assert (await step).observation.turn == 2
            state = await env.state()
            assert state.episode_id == "ep-cut" and state.turn == 2, state

    asyncio.run(play())


def cut(url: str) -> None:
    """The connection is cut in the n-th exchange, before or after the server has its message: every result is
    of its own code, judged once and paid once."""
    from kernel_env import KernelEnv

    class Cut(KernelEnv):
        left, arrives = 0, False

        async def _send(self, message):
            if message["type"] == "step":
                self.left -= 1
                if self.left == 0:
                    if self.arrives:
                        await super()._send(message)
                        await asyncio.sleep(0.3)
                    self._ws.transport.abort()
                    raise ConnectionResetError("cut")
            await super()._send(message)

    def source_of(ticket):
        with urllib.request.urlopen(f"{url}/v1/submissions/{ticket}/source") as reply:
            return reply.read().decode()

    async def play(exchange: int, arrives: bool, pause: float) -> None:
        codes = [f"{RELU}\n# {exchange} {arrives} {pause} {number}\n" for number in range(3)]
        async with Cut(url) as env:
            await env.reset(task_id=TASK, max_turns=4)
            first = await env.step({"code": codes[0], "defer": True})
            await asyncio.sleep(pause)  # so that the first is still judged then, or is not
            env.left, env.arrives = exchange, arrives
            rest = await env.submit_many(codes[1:])
            env.left = 0
            last = await env.poll(first.observation.ticket)
            while last.observation.status == "queued":
                last = await env.poll(first.observation.ticket)
            # That the connection is lost again pays nobody twice.
            env._ws.transport.abort()
            again = await env.poll(first.observation.ticket)
            assert again.reward == 0 and "already_reported" in again.observation.flags, again
            results = [last, *rest]
            assert [source_of(result.observation.ticket) for result in results] == codes
            for result in results:
                assert "already_reported" not in result.observation.flags, (exchange, arrives, pause, result)
            assert (await env.state()).turn == 3

    async def all_of_them() -> None:
        await asyncio.gather(*(play(exchange, arrives, pause) for exchange in (1, 2, 3, 4) for arrives in (False, True)
                               for pause in (0.0, 1.0)))

    asyncio.run(all_of_them())


def too_many(url: str) -> None:
    """What there is no turn for gets no other's verdict."""
    from kernel_env import KernelEnv

    async def play() -> None:
        async with KernelEnv(url) as env:
            await env.reset(task_id=TASK, max_turns=1)
            taken, left = await env.submit_many([RELU, f"{RELU}\n# second\n"])
            assert taken.observation.status != "queued" and left.observation.status == "queued", left
            await env.reset(task_id=TASK, max_turns=1)
            await env.step({"code": RELU, "defer": True})
            assert (await env.step({"code": f"{RELU}\n# second\n"})).observation.status == "queued"

    asyncio.run(play())


def restart(url: str, pid: str, count: str) -> None:
    """Episodes that a killed and restarted server must go on with. Says when the server may be killed."""
    from kernel_env import KernelEnv

    async def play(number: int) -> int:
        async with KernelEnv(url, reconnect_s=90) as env:
            await env.reset(task_id=TASK, max_turns=3, episode_id=f"ep-{number}")
            for turn in range(1, 4):
                result = await env.step({"code": f"{RELU}\n# {number} {turn}\n"})
                assert result.observation.turn == turn, (number, turn, result.observation)
            assert result.done
            return (await env.state()).turn

    async def all_of_them() -> None:
        tasks = [asyncio.ensure_future(play(number)) for number in range(int(count))]
        await asyncio.sleep(1.0)
        os.kill(int(pid), signal.SIGKILL)
        assert await asyncio.gather(*tasks) == [3] * int(count)

    asyncio.run(all_of_them())
