"""A candidate's process: warmed before it is needed, used for one submission, then ended.

The same code serves the reference (trusted, long-lived), so that both are timed alike. Until
``load`` this process has run nothing but Assay's own code; from then on nothing it says is trusted.
"""

import ctypes
import gc
import os
import sys
import time

import torch

from . import backward, diagnose, ghost, modules, native, profiling, tree
from .arena import Arena
from .channel import Channel, Closed
from .results import DeviceResults, HostResults, result_memory
from .rounds import Refused, Rounds, Slots

SUBMISSION_NAME = "submission"
LIBC = ctypes.CDLL(None)
INITIAL_FLAGS = modules.Flags()


class Candidate:
    """Serves the worker's operations on one channel."""

    def __init__(self, channel: Channel, control: native.Control, device: str, work_dir: str):
        self.channel = channel
        self.control = control
        self.device = device
        self.work_dir = work_dir
        profiling.own_folder = os.path.realpath(work_dir)
        self.next_round = 1
        self.events: list = []
        self.files = 0
        self.path = ""
        self.source = ""
        self._clear()

    def _clear(self) -> None:
        self.inputs: Arena | None = None
        self.outputs: Arena | None = None
        self.slots: Slots | None = None
        self.memory: HostResults | DeviceResults | None = None
        self.model = None
        self.model_class = None
        self.reused = False
        self.request: dict = {}
        self.flags = INITIAL_FLAGS

    def serve(self) -> None:
        while True:
            try:
                request, fds = self.channel.receive()
            except Closed:
                return
            operation = getattr(self, "op_" + request["op"])
            begin = time.perf_counter()
            try:
                reply = {"ok": True, **operation(request, fds)}
            except Refused as error:
                reply = {
                    "ok": False,
                    "error": {"kind": error.kind, "name": error.name, "message": str(error), "line": 0},
                }
            except BaseException as error:  # a submission may raise anything
                reply = {"ok": False, "error": diagnose.describe(error, self.path, self.source)}
            reply["ms"] = (time.perf_counter() - begin) * 1e3
            self.channel.send({"seq": request["seq"], **reply})

    def op_load(self, request: dict, fds: list[int]) -> dict:
        """Maps the arena and imports the module; ``class`` is looked up in it."""
        self.request = request
        self.inputs = Arena.attach(self.device, fds[0], request["input_size"], False)
        self.outputs = Arena.attach(self.device, fds[1], request["output_size"], True)
        self.slots = Slots(self.device, self.inputs.memory, self.outputs.memory, request["plan"])
        self.slots.report_mutation = request["report_mutation"]
        self.memory = result_memory(self.device, self.outputs.memory, request["plan"], request["share_results"])
        self.source = request["source"]
        # Every file has its own folder and name: two submissions never meet in a cache.
        folder = os.path.join(self.work_dir, f"{SUBMISSION_NAME}_{self.files}")
        self.files += 1
        os.makedirs(folder)
        os.chdir(folder)
        self.path = os.path.join(folder, f"{SUBMISSION_NAME}.py")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.source)
        name = f"{SUBMISSION_NAME}_{self.files}"
        if request["ghost"]:
            ghost.install()
        self.flags = INITIAL_FLAGS.under(request["precision"])
        self.flags.apply()
        if request["size"]:  # the reference, which outlives its task
            module = modules.load_task(self.path, name, request["size"])
            modules.Flags().under(request["precision"]).apply()
            sys.modules.pop(name, None)
        else:
            module = modules.load_file(self.path, name)
        self.model_class = getattr(module, request["class"], None)
        if self.model_class is None:
            raise Refused("no_model", "NoModelNew", f"the submission defines no class {request['class']}")
        return {"switches": self.flags.changed()}

    def op_build(self, request: dict, _fds: list[int]) -> dict:
        """A fresh instance from ``seed`` with the reference's parameters where the names fit."""
        self.model = None
        plan = self.request
        places = [tree.view(self.inputs.memory, place) for place in plan["init_places"]]
        init_inputs = tree.unflatten(plan["init_tree"], [p.clone() for p in places], self.device)
        if plan["ghost"]:
            ghost.patch_extensions(self.work_dir)
        self.model = modules.build(self.model_class, init_inputs, request["seed"], self.device)
        gradients = plan["plan"]["gradients"]
        if gradients is not None:
            try:
                self.model = backward.WithGradients(self.model, gradients)
            except LookupError as error:
                raise Refused("exception", "MissingParameter", str(error)) from None
        state = [tree.view(self.inputs.memory, place) for place in plan["state_places"]]
        weights = modules.load_state(self.model, plan["state_names"], state)
        if plan["compile"]:
            self.model = compiled(self.model, plan["compile"], self.work_dir)
        return {"weights": weights}

    def op_rounds(self, request: dict, _fds: list[int]) -> dict:
        """Serves rounds until the worker ends them. ``shapes``: on smaller inputs, see Slots."""
        if self.request["ghost"]:
            ghost.patch_extensions(self.work_dir)  # those that the constructor loaded
        memory = self.memory if request["timed"] else None
        if self.device == "cpu" and not request["timed"]:
            LIBC.malloc_trim(0)  # what was freed would hide how memory grows
        slots = self.slots
        if request.get("shapes"):
            plan = self.request["plan"]
            slots = Slots(self.device, self.inputs.memory, self.outputs.memory, plan, request["shapes"])
        rounds = Rounds(self.device, self.control, slots, self.next_round, self.reused, memory, self.events)
        self.channel.send({"seq": request["seq"], "event": "rounds"})
        gc_was_on = gc.isenabled()
        gc.disable()  # a collection inside a timed round would be charged to the submission
        try:
            rounds.serve(self.model)
        finally:
            if gc_was_on:
                gc.enable()
            self.next_round = rounds.round
        if rounds.error is not None:
            raise rounds.error
        self.reused = rounds.reused
        skipped = {"skipped": ghost.launches()} if self.request["ghost"] else {}
        switches = self.flags.changed()
        return {
            "reused": rounds.reused or rounds.reused_once,
            "switches": switches,
            **rounds.report(),
            **skipped,
        }

    def op_profile_begin(self, _request: dict, _fds: list[int]) -> dict:
        """From here on, launches are attributed: of the instance that is built next, and its graphs."""
        self.model = None
        try:
            profiling.attach()
        except native.NativeError as error:
            return {"unavailable": str(error)}
        return {}

    def op_profile(self, request: dict, _fds: list[int]) -> dict:
        """What ``calls`` calls make the device do. No results are taken and no clock is marked, so
        that all of it is the module's own."""
        args = self.slots.args[: request["calls"]]

        def call(index: int) -> None:
            self.model(*args[index])

        try:
            with torch.no_grad():
                return {"profile": profiling.trace(call, len(args))}
        except native.NativeError as error:
            return {"unavailable": str(error)}
        finally:
            profiling.detach()

    def op_unload(self, _request: dict, _fds: list[int]) -> dict:
        """Forgets the module and unmaps the arena; only the reference lives on after this."""
        inputs, outputs, memory, compiler = self.inputs, self.outputs, self.memory, self.request["compile"]
        self._clear()
        if compiler:
            torch._dynamo.reset()  # else every task that was compiled stays
        gc.collect()
        if self.device != "cpu":
            # The libraries' workspaces outlive the rounds; those made in one stand in its memory.
            torch._C._cuda_clearCublasWorkspaces()
        if memory is not None:
            memory.close()
        for arena in (inputs, outputs):
            if arena is not None:
                arena.close()
        if self.device != "cpu":
            torch.cuda.empty_cache()
        return {}


def compiled(model, mode: str, work_dir: str):
    """The model under torch.compile. What the compiler keeps stands in this process's own folder, and it
    starts no processes that would run beside a timing."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(work_dir, "inductor"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    return torch.compile(model, mode=None if mode == "default" else mode)


def warm(device: str) -> None:
    """Pays for everything that a first call in a process costs, before the process is needed."""
    torch.manual_seed(0)
    if device == "cpu":
        x = torch.randn(64, 64)
        (x @ x).relu_().sum().item()
        return
    native.call("assay_gpu_open", 0)
    torch.cuda.init()
    # Not what loads a library of its own (matmul, convolution): most submissions never need it.
    x = torch.randn(256, 256, device="cuda")
    x.add_(1).copy_(x.relu())
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    for event in events:
        event.record()
    torch.cuda.synchronize()
    events[0].elapsed_time(events[1])
    try:
        from . import warm_kernel

        warm_kernel.launch(x)
    except ImportError:
        pass  # an environment without Triton still judges CUDA and plain torch submissions
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def main(channel_fd: int, control_fd: int, device: str, work_dir: str, hello: dict) -> None:
    """The life of the process, after the fork and inside the sandbox."""
    channel = Channel(channel_fd)
    begin = time.perf_counter()
    control = native.Control(control_fd)
    warm(device)
    if device != "cpu":
        control.share()
    channel.send({"event": "ready", "warm_ms": (time.perf_counter() - begin) * 1e3, **hello})
    Candidate(channel, control, device, work_dir).serve()
    sys.stdout.flush()
    sys.stderr.flush()
