"""A process that becomes a tool (Nsight Compute, compute-sanitizer) running the submission.

Forked from the zygote and confined like a candidate. It first rehearses: a child calls the submission
without the tool, so that everything is compiled and the tool's short time is spent on looking. Then it
replaces itself by the tool, which runs ``assay.runtime.replay``.
"""

import json
import os
import sys
import time

from . import candidate, diagnose, replay
from .channel import Channel, Closed

PYTHON_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class Tool:
    """Serves the worker's operations on one channel, until it becomes the tool."""

    def __init__(self, channel: Channel, device: str, work_dir: str):
        self.channel = channel
        self.device = device
        self.folder = os.path.join(work_dir, "submission_0")
        self.plan = os.path.join(self.folder, "plan.json")

    def serve(self) -> None:
        while True:
            try:
                request, _ = self.channel.receive()
            except Closed:
                return
            reply = getattr(self, "op_" + request["op"])(request)
            self.channel.send({"seq": request["seq"], **reply})

    def op_rehearse(self, request: dict) -> dict:
        """Writes the files and calls the submission in a child; ``failed`` says how that went wrong."""
        os.makedirs(self.folder)
        os.chdir(self.folder)
        names = {name: os.path.join(self.folder, name + ".py") for name in ("task", "submission")}
        for name, path in names.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(request[name])
        plan = {**names, "device": self.device, **request["plan"]}
        with open(self.plan, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(read_end)
                self.channel.close()
                silence()
                candidate.warm(self.device)  # as a candidate is: CUDA first, then Triton's driver
                replay.run(plan)
                status = 0
            except BaseException as error:  # a submission may raise anything
                described = diagnose.describe(error, plan["submission"], request["submission"])
                text = f"{described['name']}: {described['message']}"
                os.write(write_end, text.encode("utf-8", "replace")[:4000])
            finally:
                os._exit(status)
        os.close(write_end)
        text = b""
        while len(text) < 4000 and (part := os.read(read_end, 4000)):
            text += part
        os.close(read_end)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        failed = text.decode("utf-8", "replace")
        if code != 0 and not failed:
            failed = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {"ok": True, "failed": failed}

    def op_become(self, request: dict) -> dict:
        """Replaces this process; there is no reply but on failure, which the exit code shows."""
        path = os.pathsep.join(filter(None, (PYTHON_FOLDER, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, **request["env"], "PYTHONPATH": path, "LC_ALL": "C"}
        arguments = [*request["argv"], sys.executable, "-m", "assay.runtime.replay", self.plan]
        os.closerange(3, 1024)
        try:
            os.execve(arguments[0], arguments, environment)
        except OSError as error:
            os.write(2, f"{arguments[0]} cannot be started: {error.strerror}".encode())
            os._exit(127)


def silence() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(null, fd)


def main(channel_fd: int, device: str, work_dir: str, hello: dict) -> None:
    """The life of the process, after the fork and inside the sandbox."""
    # For the zygote, which must not initialise CUDA; the tool runs an interpreter of its own.
    os.environ.pop("PYTORCH_NVML_BASED_CUDA_CHECK", None)
    channel = Channel(channel_fd)
    begin = time.perf_counter()
    channel.send({"event": "ready", "warm_ms": (time.perf_counter() - begin) * 1e3, **hello})
    Tool(channel, device, work_dir).serve()
