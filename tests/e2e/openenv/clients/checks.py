"""Checks that run in a client's own environment: python checks.py NAME URL [ARGUMENT...]."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import urllib.request
from pathlib import Path

from lost import RELU, TASK, cut, reconnect, restart, too_many  # noqa: F401


# --- official clients, unmodified ------------------------------------------------------------------

def generic_sync(url: str) -> None:
    from openenv.core.generic_client import GenericAction, GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        assert env.state()["episode_id"] is None
        ready = env.reset(seed=7, episode_id="ep-1", task_id=TASK, max_turns=2, prompt=["a row's column"])
        assert ready.observation["status"] == "ready" and ready.reward is None and not ready.done
        assert "class Model" in ready.observation["reference_code"]
        first = env.step({"code": RELU})
        assert isinstance(first.reward, (int, float)) and first.observation["turn"] == 1, first
        second = env.step(GenericAction(code=RELU))
        assert second.done
        over = env.step({"code": RELU})
        assert over.done and over.observation["status"] == "episode_over"
        state = env.state()
        assert state["episode_id"] == "ep-1" and state["step_count"] == 2, state
        again = env.reset(task_id=TASK)
        assert again.observation["turn"] == 0 and env.state()["step_count"] == 0


def generic_async(url: str) -> None:
    from openenv.core.generic_client import GenericEnvClient

    async def play() -> None:
        async with GenericEnvClient(base_url=url) as env:
            await env.reset(task_id=TASK, max_turns=1)
            result = await env.step({"code": RELU})
            assert result.done

    asyncio.run(play())


def errors(url: str) -> None:
    """Mistakes raise with a message that helps, and the connection goes on."""
    from openenv.core.generic_client import GenericEnvClient

    def raised(call) -> str:
        try:
            call()
        except RuntimeError as error:
            return str(error)
        raise AssertionError("nothing was raised")

    with GenericEnvClient(base_url=url).sync() as env:
        assert "reset" in raised(lambda: env.step({"code": RELU}))
        assert TASK in raised(lambda: env.reset(task_id="assay/rleu"))
        env.reset(task_id=TASK)
        message = raised(lambda: env.step({"kode": RELU}))
        assert "VALIDATION_ERROR" in message and "kode" in message, message
        assert env.step({"code": RELU}).observation["turn"] == 1


def concurrent(url: str, count: str = "32") -> None:
    from openenv.core.generic_client import GenericEnvClient

    async def play(number: int) -> None:
        async with GenericEnvClient(base_url=url) as env:
            ready = await env.reset(task_id=TASK, episode_id=f"ep-{number}", max_turns=3)
            assert ready.observation["status"] == "ready"
            for turn in range(1, 4):
                result = await env.step({"code": RELU, "metadata": {"number": number}})
                assert result.observation["turn"] == turn, result
                assert result.observation["metadata"]["number"] == number, "another episode's reply"
            assert result.done
            assert (await env.state())["episode_id"] == f"ep-{number}"

    async def all_of_them() -> None:
        await asyncio.gather(*(play(number) for number in range(int(count))))

    asyncio.run(all_of_them())


def blocked(url: str, seconds: str = "45") -> None:
    """An asynchronous client whose event loop stands still, as while a trainer generates."""
    from openenv.core.generic_client import GenericEnvClient

    async def play() -> None:
        async with GenericEnvClient(base_url=url) as env:
            await env.reset(task_id=TASK, max_turns=2)
            time.sleep(float(seconds))
            assert (await env.step({"code": RELU})).observation["turn"] == 1

    asyncio.run(play())


def urls(url: str) -> None:
    from openenv.core.generic_client import GenericEnvClient

    for address in (url + "/", url.replace("http", "ws"), url.removeprefix("http://")):
        with GenericEnvClient(base_url=address).sync() as env:
            assert env.reset(task_id=TASK).observation["task_id"] == TASK


def tool_client(url: str) -> None:
    from openenv.core.mcp_client import MCPToolClient

    async def play() -> None:
        for http_tools in (False, True):
            env = MCPToolClient(base_url=url)
            env.use_production_mode = http_tools
            async with env:
                names = {tool.name for tool in await env.list_tools()}
                assert names == {"get_task", "submit_kernel", "check_kernel", "get_best"}, names
                task = await env.call_tool("get_task", task_id=TASK)
                assert task["status"] == "ready", task
                result = await env.call_tool("submit_kernel", code=RELU)
                assert result["turn"] == 1, result
                best = await env.call_tool("get_best")
                assert best["state"]["turn"] == 1
                try:
                    await env.call_tool("dance")
                except RuntimeError as error:
                    assert "dance" in str(error) or "no tool" in str(error)
                else:
                    raise AssertionError("an unknown tool was called")

    asyncio.run(play())


def capacity(url: str) -> None:
    """A server with room for one: the second waits, and then is refused or let in."""
    from openenv.core.generic_client import GenericEnvClient

    async def play() -> None:
        async with GenericEnvClient(base_url=url) as first:
            await first.reset(task_id=TASK)
            async with GenericEnvClient(base_url=url) as second:
                try:
                    await second.reset(task_id=TASK)
                except RuntimeError as error:
                    assert "CAPACITY_REACHED" in str(error), error
                else:
                    raise AssertionError("there was no room")
            async with GenericEnvClient(base_url=url) as third:
                waiting = asyncio.ensure_future(third.reset(task_id=TASK))
                await asyncio.sleep(0.2)
                assert not waiting.done()
                first._ws.transport.abort()  # half a goodbye: the slot is freed all the same
                assert (await waiting).observation["status"] == "ready"

    asyncio.run(play())


def keyed(url: str, wrong: str) -> None:
    """A key in the URL, which is all that this client can be given."""
    from openenv.core.generic_client import GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        assert env.reset(task_id=TASK).observation["status"] == "ready"
        assert env.step({"code": RELU}).observation["turn"] == 1
    try:
        with GenericEnvClient(base_url=wrong).sync() as env:
            env.reset(task_id=TASK)
    except Exception as refused:
        assert "401" in str(refused), refused
    else:
        raise AssertionError("a wrong key was taken")

    from urllib.parse import urlsplit

    from kernel_env import KernelEnv, evaluate

    parts = urlsplit(url)
    bare, key = f"http://{parts.hostname}:{parts.port}", parts.password

    def ours(url: str, **options) -> None:
        with KernelEnv(url, **options).sync() as env:
            assert env.reset(task_id=TASK).observation.status == "ready"
            assert env.evaluate(TASK, RELU).done
        assert evaluate(url, TASK, RELU, **options).done

    ours(url)
    ours(bare, api_key=key)
    os.environ["KERNEL_ENV_API_KEY"] = key
    ours(bare)
    os.environ["KERNEL_ENV_API_KEY"] = "ak_wrong"
    ours(url)
    try:
        ours(bare)
    except Exception as refused:
        assert "401" in str(refused) and "ak_wrong" not in str(refused), refused
    else:
        raise AssertionError("a wrong key was taken")


# --- our client ------------------------------------------------------------------------------------

def kernel_env(url: str) -> None:
    from kernel_env import KernelAction, KernelEnv, evaluate, feedback_message, initial_messages

    with KernelEnv(url).sync() as env:
        ready = env.reset(task_id=TASK, max_turns=4)
        messages = initial_messages(ready.observation, system="You write kernels.")
        assert [message["role"] for message in messages] == ["system", "user"]
        result = env.step(KernelAction(code=f"Here it is:\n```python\n{RELU}```\n", metadata={"sample": 3}))
        assert result.observation.turn == 1 and result.observation.metadata == {"sample": 3}
        assert "Submission 1 of 4" in feedback_message(result.observation)
        cut_off = env.step(KernelAction(code="```python\nclass ModelNew:"))
        assert cut_off.observation.status == "invalid_submission"
        assert "unterminated" in cut_off.observation.feedback
        assert env.state().turn == 2
        alone = env.evaluate(TASK, RELU)
        assert alone.done and alone.observation.task_id == TASK
    assert evaluate(url, TASK, RELU).task_id == TASK


def many(url: str, count: str = "8") -> None:
    from kernel_env import KernelEnv

    with KernelEnv(url).sync() as env:
        env.reset(task_id=TASK, max_turns=int(count))
        started = time.monotonic()
        results = env.submit_many([f"{RELU}\n# {number}\n" for number in range(int(count))])
        took = time.monotonic() - started
        assert [result.observation.turn for result in results] == [int(count)] * int(count)
        assert results[-1].done and not any(result.observation.status == "queued" for result in results)
        print(f"{took:.2f} s for {count}")


def tickets(url: str) -> None:
    """A judgement that takes longer than the server waits."""
    from kernel_env import KernelEnv

    with KernelEnv(url, wait=False).sync() as env:
        env.reset(task_id=TASK, max_turns=2)
        queued = env.step({"code": RELU})
        assert queued.observation.status == "queued" and queued.reward == 0 and not queued.done
        assert env.state().pending_ticket == queued.observation.ticket
        result = env.poll(queued.observation.ticket)
        while result.observation.status == "queued":
            result = env.poll(queued.observation.ticket)
        deferred = env.step({"code": RELU, "defer": True})
        assert env.cancel(deferred.observation.ticket).observation.status == "cancelled"
    with KernelEnv(url).sync() as env:
        env.reset(task_id=TASK, max_turns=1)
        assert env.step({"code": RELU}).done, "step() waits for the verdict"


def timeout(url: str) -> None:
    """After a timeout the next reply is not taken for the lost one's, and the episode goes on."""
    from kernel_env import KernelEnv

    async def play() -> None:
        async with KernelEnv(url, message_timeout_s=0.3) as env:
            await env.reset(task_id=TASK, max_turns=3)
            try:
                await env.step({"code": RELU})
            except (asyncio.TimeoutError, TimeoutError):
                pass
            else:
                raise AssertionError("the server was too fast for this check")
            env._message_timeout = 30
            state = await env.state()
            assert state.episode_id, state

    asyncio.run(play())


def harness(url: str) -> None:
    from kernel_env import KernelSessionFactory

    session = KernelSessionFactory(url, max_turns=2).create(TASK, seed=1, episode_id="ep-h")
    try:
        assert session.initial_messages()[0]["role"] == "user"
        assert {tool.name for tool in session.list_tools()} == {"submit_kernel", "check_kernel"}
        assert session.call_tool("dance", {}).error
        result = session.call_tool("submit_kernel", {"code": RELU})
        assert result.error is None and result.data and not result.done
        verified = session.verify([])
        assert verified.metrics["turns"] == 1
    finally:
        session.close()


def trl_tools(url: str) -> None:
    """What TRL does with an environment factory, without TRL."""
    import inspect

    from kernel_env import DeferredKernelToolEnv, KernelToolEnv, kernel_reward

    os.environ["KERNEL_ENV_URL"] = url
    for factory in (KernelToolEnv, DeferredKernelToolEnv):
        tools = [name for name, _ in inspect.getmembers(factory, inspect.isfunction)
                 if not name.startswith("_") and name not in ("reset", "get_reward")]
        assert tools == ["submit_kernel"], tools
        assert "Args:" in inspect.getdoc(factory.submit_kernel)
        environment = factory()
        text = environment.reset(task_id=TASK, prompt=[{"role": "user", "content": "x"}], answer=None)
        assert "ModelNew" in text
        environment.submit_kernel(code=RELU)
        rewards = kernel_reward([environment])
        assert len(rewards) == 1 and (rewards[0] is None or rewards[0] >= 0)
        environment._close()


def auto_env(url: str) -> None:
    """OpenEnv's discovery finds the installed package and its classes."""
    from openenv.auto import AutoAction, AutoEnv

    assert AutoEnv.get_env_class("kernel").__name__ == "KernelEnv"
    assert AutoAction.from_env("kernel").__name__ == "KernelAction"


def extraction(url: str) -> None:
    from kernel_env import CodeBlockError, extract_code

    cases = json.loads((Path(__file__).resolve().parents[1] / "extraction.json").read_text())
    for case in cases:
        try:
            code, problem = extract_code(case["text"]), ""
        except CodeBlockError as error:
            code, problem = "", str(error)
        assert code == case.get("code", ""), case
        assert bool(problem) == ("problem" in case) and case.get("problem", "") in problem, case


def models(url: str) -> None:
    """The package's models and the served schemas say the same."""
    from kernel_env import KernelAction, KernelObservation, KernelState

    with urllib.request.urlopen(url + "/schema") as response:
        schema = json.load(response)
    for part, model in (("action", KernelAction), ("state", KernelState)):
        assert set(schema[part]["properties"]) == set(model.model_fields), part
    served = set(schema["observation"]["properties"]) - {"tools", "tool_name", "result"}
    assert served == set(KernelObservation.model_fields), served ^ set(KernelObservation.model_fields)
    statuses = KernelAction.model_json_schema()["required"]
    assert statuses == schema["action"]["required"] == ["code"]


def provider(url: str) -> None:
    from kernel_env import GpuDockerProvider

    command = GpuDockerProvider(gpus="device=0").command("kernel-env:latest", 8123, {"KERNEL_ENV_GPUS": "0"})
    assert command[:3] == ["docker", "run", "--detach"] and command[-1] == "kernel-env:latest"
    assert "127.0.0.1:8123:8000" in command and "device=0" in command and "KERNEL_ENV_GPUS=0" in command


# --- the wire itself -------------------------------------------------------------------------------

def wire(url: str) -> None:
    """Frames that official clients do not send."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, InvalidStatus

    address = url.replace("http", "ws")

    async def play() -> None:
        async with connect(address + "/ws", proxy=None) as socket:
            async def ask(text):
                await socket.send(text)
                return json.loads(await socket.recv())

            assert (await ask("{"))["data"]["code"] == "INVALID_JSON"
            assert (await ask("[1]"))["type"] == "error"
            assert (await ask('{"type": "dance"}'))["data"]["code"] == "UNKNOWN_TYPE"
            assert (await ask('{"type": "state", "data": {}}'))["data"]["code"] == "VALIDATION_ERROR"
            reset = json.dumps({"type": "reset", "data": {"task_id": TASK, "seed": 10**40}})
            assert (await ask(reset))["type"] == "observation"
            # Fragmented, and two requests without waiting.
            half = len(reset) // 2
            await socket.send([reset[:half], reset[half:]])
            await socket.send('{"type": "state"}')
            assert json.loads(await socket.recv())["type"] == "observation"
            assert json.loads(await socket.recv())["type"] == "state"
            # Fifteen MiB are read (and then too long for a submission).
            large = await ask(json.dumps({"type": "step", "data": {"code": "x" * (15 << 20)}}))
            assert large["data"]["observation"]["status"] == "invalid_submission"
            pong = await socket.ping()
            await asyncio.wait_for(pong, 1)
            await socket.send('{"type": "close"}')
            try:
                await socket.recv()
            except ConnectionClosed:
                assert socket.close_code == 1000
        async with connect(address + "/ws", proxy=None, max_size=None) as socket:
            try:
                await socket.send(json.dumps({"type": "step", "data": {"code": "x" * (40 << 20)}}))
                await socket.recv()
            except ConnectionClosed:
                pass
            assert socket.close_code == 1009, socket.close_code
        try:
            async with connect(address + "/nope", proxy=None):
                raise AssertionError("an unknown path was upgraded")
        except InvalidStatus as refused:
            assert refused.response.status_code in (403, 404)
        async with connect(address + "/mcp", proxy=None) as socket:
            await socket.send('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}')
            assert len(json.loads(await socket.recv())["result"]["tools"]) == 4

    asyncio.run(play())


def pong(url: str) -> None:
    """A ping during a long step is answered at once."""
    from websockets.asyncio.client import connect

    async def play() -> None:
        async with connect(url.replace("http", "ws") + "/ws", proxy=None) as socket:
            await socket.send(json.dumps({"type": "reset", "data": {"task_id": TASK}}))
            await socket.recv()
            await socket.send(json.dumps({"type": "step", "data": {"code": RELU}}))
            started = time.monotonic()
            await asyncio.wait_for(await socket.ping(), 1)
            assert time.monotonic() - started < 1
            assert json.loads(await asyncio.wait_for(socket.recv(), 30))["type"] == "observation"

    asyncio.run(play())


def telemetry(url: str, token: str) -> None:
    from websockets.asyncio.client import connect

    async def play() -> None:
        async with connect(url.replace("http", "ws") + "/ws", proxy=None, compression=None) as socket:
            async def ask(kind, data):
                await socket.send(json.dumps({"type": kind, **({} if data is None else {"data": data})}))
                return json.loads(await socket.recv())

            opened = await ask("validation_open", {"schema_version": 1, "token": token})
            assert opened["type"] == "validation_open", opened
            seen = [await ask("reset", {"seed": 7, "episode_id": "probe", "options": {"timing": "off"}}),
                    await ask("state", None)]
            capability = opened["data"]["capability"]
            read = await ask("validation_read", {"schema_version": 1, "capability": capability})
            records = read["data"]["trajectory"]["records"]
            assert [record["response"] for record in records] == seen
            assert read["data"]["seed"] == {"requested": True, "value": 7, "accepted": True}
            refused = await ask("validation_read", {"schema_version": 1, "capability": "guess"})
            assert refused["data"]["code"] == "VALIDATION_ERROR" and "guess" not in json.dumps(refused)

    asyncio.run(play())


def mcp_client(url: str) -> None:
    """The reference client of the Model Context Protocol, over Streamable HTTP."""
    from mcp import ClientSession

    try:
        from mcp.client.streamable_http import streamable_http_client as transport
    except ImportError:
        from mcp.client.streamable_http import streamablehttp_client as transport

    async def play() -> None:
        async with transport(url + "/mcp") as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                hello = await session.initialize()
                info = getattr(hello, "serverInfo", None) or hello.server_info
                assert info.name == "kernel_env"
                tools = (await session.list_tools()).tools
                assert {tool.name for tool in tools} == {"get_task", "submit_kernel", "check_kernel", "get_best"}
                task = await session.call_tool("get_task", {"task_id": TASK})
                assert "ModelNew" in task.content[0].text
                result = await session.call_tool("submit_kernel", {"code": RELU})
                failed = getattr(result, "isError", None) or getattr(result, "is_error", False)
                assert not failed, result
                print(result.content[0].text)

    asyncio.run(play())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    print("ok")
