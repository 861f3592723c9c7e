"""The judge's process: trusted, long-lived, one per device.

It holds what a candidate must never see: the task's module, hidden seeds, inputs before they are
handed out, expected outputs. It makes inputs, runs the reference and compares. It decides nothing:
the worker turns its measurements into a verdict.
"""

import collections
import gc
import os
import time

import torch

from . import calibrate, compare, families, health, modules, native, stochastic
from .arena import ArenaStore
from .channel import Channel, Closed
from .lane import Lane, OutsideError
from .task import Task, fast_random
from .watch import Watch

MAX_TASKS = 64  # modules kept loaded
KEPT_BYTES = 8 << 30  # of device memory, by torch, whatever is open


class Judge:
    """Serves the worker's operations."""

    def __init__(self, channel: Channel, control: native.Control, device: str, folder: str):
        self.channel = channel
        self.device = device
        self.folder = folder
        self.tasks: collections.OrderedDict[tuple, Task] = collections.OrderedDict()
        self.examined: dict[int, Task] = {}
        self.lanes: dict[int, Lane] = {}
        self.needs: dict[int, int] = {}  # device memory that the worker has set aside for each of them
        self.budget = 0  # ... of this much, in bytes
        if device != "cpu":
            native.call("assay_gpu_open", 0)
            torch.cuda.init()
        self.watch = Watch(device, control)
        self.arenas = ArenaStore(device)
        if device != "cpu":
            self._warm()

    def _warm(self) -> None:
        """Loads the kernels that nearly every task needs; each costs milliseconds the first time."""
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            x = torch.randn(256, 256, dtype=dtype, device="cuda")
            y = torch.rand(256, 256, dtype=dtype, device="cuda")
            ((x @ y).relu().softmax(1).sum() + x.mean()).item()
            x.clone().copy_(y.double())
        torch.randint(0, 9, (64,), device="cuda")
        # Loaded while contexts are made, each of these kernels would wait for those.
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            x = torch.rand(4096, dtype=dtype, device="cuda")
            families.kinds_of([x])
            for family in (families.SIGNED, families.SCALED):
                families.admits([x], families.transform(["uniform"], [x], family))
            families.make_rare(["uniform"], [x], [1])
        if compare.fused_compare is not None:
            compare.fused_compare.warm()
        if fast_random is not None:
            fast_random.warm()

    def serve(self) -> None:
        while True:
            try:
                request, fds = self.channel.receive()
            except Closed:
                return
            for fd in fds:
                os.close(fd)
            begin = time.perf_counter()
            sent: tuple[int, ...] = ()
            try:
                reply = getattr(self, "op_" + request["op"])(request)
                sent = reply.pop("fds", ())
                reply["ok"] = True
            except Exception as error:
                reply = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
                if isinstance(error, (torch.OutOfMemoryError, native.NativeError)):
                    self._make_room()  # the next try finds what is kept free
                del error
                self._trim()
            reply["ms"] = (time.perf_counter() - begin) * 1e3
            self.channel.send(reply, sent)
            self.watch.await_round()

    def op_examine(self, request: dict) -> dict:
        """Loads a task for one submission ("lane") and says what it needs."""
        key = _key(request)
        if key not in self.tasks:
            self._make_room()
            self.tasks[key] = Task(
                request["source"], request["entry"], request["size"], self.device, self.folder, request["precision"]
            )
            while len(self.tasks) > MAX_TASKS:
                self.tasks.popitem(last=False)
        self.tasks.move_to_end(key)
        task = self.tasks[key].for_lane()
        self.examined[request["lane"]] = task
        self._trim()
        return {
            "input_bytes": task.input_bytes,
            "output_bytes": task.output_bytes,
            "state_bytes": task.state_bytes,
            "outputs": len(task.output_places),
            "reference_us": task.reference_us,
            "forward_inputs": modules.forward_inputs(task.entry),
            "writes_inputs": task.writes_inputs,
            "draws": stochastic.draw_counts(task.random_elements, task.reference_us)[2] if task.random else 0,
            "families": task.families,
            "precision": task.precision,
            "general_shapes": task.general_shapes,
            "same_inputs": task.same_inputs,
            "constant_inputs": task.constant_inputs,
            "work": task.work,
        }

    def op_screen(self, request: dict) -> dict:
        """Which trivial programs pass a task that was examined before; see health."""
        self._make_room()
        task = self.tasks[_key(request)].for_lane()
        task.flags.apply()
        return {"health": health.screen(task, request["limit_s"])}

    def op_precisions(self, request: dict) -> dict:
        """Tries the precisions of a task that was examined before; slow, for audits only."""
        self._make_room()
        self.tasks[_key(request)].try_precisions()
        return {}

    def op_facts(self, request: dict) -> dict:
        return calibrate.Gpu(torch.device("cuda", 0), quick=True).card()

    def op_open(self, request: dict) -> dict:
        """Makes the lane's arena of ``slots`` slots; the reply carries the descriptors of
        inputs, outputs, the reference's outputs and those of each baseline."""
        task = self.examined.pop(request["lane"])
        self.needs[request["lane"]], self.budget = request["need_bytes"], request["budget_bytes"]
        self.arenas.allow(0 if request["frugal"] else self.budget - sum(self.needs.values()))
        lane = Lane(task, request["slots"], self.arenas, request["warm"], request["baselines"])
        self.lanes[request["lane"]] = lane
        if request["frugal"]:
            lane.temporary_bytes = 0
        self._trim()
        return {
            "plan": lane.plan(),
            "input_size": lane.inputs.size,
            "output_size": lane.outputs.size,
            "init_tree": lane.init_tree,
            "init_places": lane.init_places,
            "state_names": lane.state_names,
            "state_places": lane.state_places,
            "fds": (lane.inputs.fd, lane.outputs.fd, *(arena.fd for arena in lane.reference_outputs)),
        }

    def op_shapes(self, request: dict) -> dict:
        """Smaller inputs that the reference accepts: where they and their outputs stand in a slot; nothing
        where it accepts none."""
        task = self.lanes[request["lane"]].task
        task.flags.apply()
        found = task.jittered()
        return {} if found is None else {"shapes": {"input_places": found.input_places, "output_places": found.output_places}}

    def op_weights(self, request: dict) -> dict:
        self.lanes[request["lane"]].weights(request["seed"])
        return {}

    def op_fill(self, request: dict) -> dict:
        """Inputs of a round: after the GPU was seen quiet, written, and out of the cache again."""
        quiet = self.watch.quiet(request["quiet_ns"])
        family = request.get("family", families.NATIVE)
        self.lanes[request["lane"]].fill(request["first"], request["seeds"], family, request.get("rare", []))
        return {**quiet, **self._ready(request, len(request["seeds"]))}

    def op_flush(self, request: dict) -> dict:
        """Ready for another round on the same inputs (``calls`` of them, or on none) of ``process``, see Lane."""
        quiet = self.watch.quiet(request["quiet_ns"])
        return {**quiet, **self._ready(request, request["calls"])}

    def _ready(self, request: dict, calls: int) -> dict:
        hold, lane, process = request["hold_ns"], self.lanes[request["lane"]], request["process"]
        if lane.warm and calls:
            lane.touch(process, request["first"], calls)
        late = lane.late_words(process).swap(request["first"], calls) if calls and hold else ()
        look = self.watch.flush_and_look(request["quiet_ns"], flush=not lane.warm)
        return {**look, **self.watch.hold(hold, late)}

    def op_expect(self, request: dict) -> dict:
        """Computes what a call is compared with, before it has ended."""
        self.lanes[request["lane"]].expect(request["slot"])
        return {}

    def op_verify(self, request: dict) -> dict:
        quiet = self.watch.quiet(request["quiet_ns"])
        lane = self.lanes[request["lane"]]
        try:
            result = lane.verify(request["slot"], request["places"], request["strides"], request["exact"])
        except OutsideError as error:
            result = {"passed": False, "outside": str(error)}
        self._trim()
        return {"result": result, **quiet}

    def op_erase_outputs(self, request: dict) -> dict:
        """Between two processes of one submission: nothing that one wrote is there for the other."""
        self.lanes[request["lane"]].erase_outputs()
        return {}

    def op_remember(self, request: dict) -> dict:
        self.lanes[request["lane"]].remember(request["slot"])
        return {}

    def op_repeated(self, request: dict) -> dict:
        return {"same": self.lanes[request["lane"]].repeated(request["slot"])}

    def op_keep(self, request: dict) -> dict:
        """The same for later, where it ``kept`` the call; what is said of its ``outside`` holds at once."""
        quiet = self.watch.quiet(request["quiet_ns"])
        try:
            kept = self.lanes[request["lane"]].keep(request["slot"], request["places"], request["strides"])
        except OutsideError as error:
            return {"kept": False, "outside": str(error), **quiet}
        return {"kept": kept, **quiet}

    def op_verify_kept(self, request: dict) -> dict:
        count, report = self.lanes[request["lane"]].verify_kept(request["limit_s"])
        self._trim()
        return {"count": count} if report is None else {"count": count, "result": report}

    def op_verify_draws(self, request: dict) -> dict:
        lane = self.lanes[request["lane"]]
        result = lane.verify_draws(request["first"], request["count"], request["last"])
        self._trim()
        return {"result": result}

    def op_close(self, request: dict) -> dict:
        self.examined.pop(request["lane"], None)
        lane = self.lanes.pop(request["lane"], None)
        self.needs.pop(request["lane"], None)
        self.arenas.allow(self.budget - sum(self.needs.values()))
        if lane is not None:
            lane.close(request["unshared"])
        del lane
        self._trim()
        return {}

    def _make_room(self) -> None:
        """Nothing is set aside for what a task needs while it is looked at outside of a lane."""
        self.arenas.allow(0)
        self.arenas.expect([])

    def _trim(self) -> None:
        """Gives memory that torch keeps for later back to the candidates: where it is more than the worker has
        set aside for the temporaries of the lanes that are open (between lanes: more than the next one of the
        same task takes), and where the rest of the card is short of what a call of each usually takes. Where
        that was too little, the worker asks to be frugal."""
        if self.device == "cpu":
            return
        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        if kept <= KEPT_BYTES:
            return
        lanes = self.lanes.values()
        latest = [task.temporary_bytes for task in self.tasks.values()][-1:]  # was looked at last
        allowed = sum(lane.temporary_bytes for lane in lanes) if lanes else sum(latest)
        if kept > allowed or torch.cuda.mem_get_info()[0] < sum(
            lane.task.input_bytes + lane.task.output_bytes for lane in lanes
        ):
            gc.collect()
            torch.cuda.empty_cache()


def _key(request: dict) -> tuple:
    """What tells loaded tasks apart."""
    return request["sha256"], request["entry"], request["size"], request["precision"]


def main(channel_fd: int, control_fd: int, device: str, folder: str) -> None:
    channel = Channel(channel_fd)
    judge = Judge(channel, native.Control(control_fd), device, folder)
    channel.send({"event": "ready", "l2_bytes": judge.watch.l2_bytes, "remove": folder})
    judge.serve()
