"""Measures what this card (or processor) reaches: memory rates, arithmetic by precision, an empty launch.

Prints one JSON object, ``assay.calibration/1``. About a minute, with ``--quick`` some seconds. The
card is measured as it is: no clock and no setting is changed. Data is random and normal, for zeros
draw less power and run faster than any task does. A figure that the card or this torch cannot give
is null.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time

import torch

MIB = 1 << 20


def _driver_version() -> int:
    """The CUDA version that the driver offers, 13000 for 13.0; 0 where it does not say."""
    version = ctypes.c_int()
    try:
        failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return 0
    return 0 if failed else version.value


class Gpu:
    """A CUDA device and its clock."""

    def __init__(self, device: torch.device, quick: bool):
        self.device = device
        self.quick = quick
        torch.cuda.set_device(device)
        self.properties = torch.cuda.get_device_properties(device)
        self.l2_bytes = int(getattr(self.properties, "L2_cache_size", 0)) or 64 * MIB
        self.budget_s = 0.15 if quick else 1.5

    def card(self) -> dict:
        p = self.properties
        memory_khz = getattr(p, "memory_clock_rate", 0)
        return {
            "cpu": False,
            "name": p.name,
            "uuid": f"GPU-{p.uuid}",
            "compute": 10 * p.major + p.minor,
            "multiprocessors": p.multi_processor_count,
            "clock_ghz": getattr(p, "clock_rate", 0) / 1e6,
            # Two transfers a clock.
            "dram_gbs": 2 * memory_khz * 1e3 * getattr(p, "memory_bus_width", 0) / 8 / 1e9,
            "l2_bytes": self.l2_bytes,
            "memory_bytes": p.total_memory,
            "driver": str(_driver_version()),
            "torch": torch.__version__,
        }

    def seconds(self, call, calls: int = 1) -> float:
        """Median time of one of the ``calls`` pieces of work that ``call`` does, by the device's clock."""
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        times, begin = [], time.perf_counter()
        while len(times) < 5 or (time.perf_counter() - begin < self.budget_s and len(times) < 1000):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / 1e3 / calls)
        return statistics.median(times)

    def graphed(self, call, calls: int):
        """``calls`` repeats of ``call`` as one graph, so that launching costs the host nothing."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            call()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        return graph.replay

    def large(self) -> int:
        """Bytes of a tensor that no cache holds."""
        free, _ = torch.cuda.mem_get_info()
        wanted = max(8 * self.l2_bytes, (512 if self.quick else 2048) * MIB)
        return min(wanted, free // 6) // (16 * MIB) * (16 * MIB)

    def cache_copy_gbs(self) -> float:
        size = self.l2_bytes // 4 // 4096 * 4096  # two of them are half the cache
        source, target = _random(size, self.device), _random(size, self.device)
        replay = self.graphed(lambda: target.copy_(source), 50)
        return 2 * size / self.seconds(replay, 50) / 1e9

    def launch_us(self) -> float:
        """An all but empty kernel between two events, as submissions are timed: the shortest hundredth."""
        x = torch.zeros(1, device=self.device)
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(401)]
        for _ in range(20):
            x.fill_(1.0)
        torch.cuda.synchronize()
        for mark in marks[:-1]:
            mark.record()
            x.fill_(1.0)
        marks[-1].record()
        torch.cuda.synchronize()
        times = sorted(a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:]))
        return max(times[len(times) // 100], 0.5)

    def sizes(self, precision: str) -> list[int]:
        if self.quick:
            return [4096]
        return [4096, 8192] if precision in ("fp32", "fp64") else [4096, 8192, 16384]

    def products(self, precision: str, n: int):
        """One product of two n x n matrices in a precision."""
        normal = torch.randn(n, n, device=self.device)
        if precision in ("fp32", "tf32"):
            a, b = normal, torch.randn(n, n, device=self.device)
            return lambda: torch.mm(a, b)
        if precision == "int8":
            a, b = ((torch.randn(n, n, device=self.device) * 40).clamp(-127, 127).to(torch.int8) for _ in range(2))
            return lambda: torch._int_mm(a, b.t())
        if precision == "fp8":
            a, b = (torch.randn(n, n, device=self.device).to(torch.float8_e4m3fn) for _ in range(2))
            one = torch.ones((), device=self.device)
            return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)
        dtype = {"fp64": torch.float64, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
        a, b = normal.to(dtype), torch.randn(n, n, device=self.device).to(dtype)
        return lambda: torch.mm(a, b)


class Cpu:
    """This processor and the host's clock."""

    def __init__(self, device: torch.device, quick: bool):
        self.device = device
        self.quick = quick
        self.budget_s = 0.05 if quick else 1.0

    def card(self) -> dict:
        name = "processor"
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        if names:
            name = names[0]
        return {"cpu": True, "name": f"{name}, {torch.get_num_threads()} threads", "uuid": "cpu", "driver": "",
                "torch": torch.__version__}

    def seconds(self, call, calls: int = 1) -> float:
        call()
        times, begin = [], time.perf_counter()
        while len(times) < 5 or (time.perf_counter() - begin < self.budget_s and len(times) < 1000):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) / calls)
        return min(times)  # a host has other things to do; what it can do shows in its best moment

    @staticmethod
    def repeated(call, calls: int):
        def run():
            for _ in range(calls):
                call()
        return run

    def large(self) -> int:
        return (64 if self.quick else 512) * MIB

    def cache_copy_gbs(self) -> float:
        size = MIB // 4
        source, target = _random(size, self.device), _random(size, self.device)
        return 2 * size / self.seconds(self.repeated(lambda: target.copy_(source), 50), 50) / 1e9

    def launch_us(self) -> float:
        x = torch.zeros(1)
        return self.seconds(self.repeated(lambda: x.fill_(1.0), 200), 200) * 1e6

    def sizes(self, precision: str) -> list[int]:
        return [512] if self.quick else [1024, 2048]

    def products(self, precision: str, n: int):
        dtype = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        a, b = torch.randn(n, n).to(dtype), torch.randn(n, n).to(dtype)
        return lambda: torch.mm(a, b)


def _random(size: int, device: torch.device) -> torch.Tensor:
    return torch.empty(size // 4, device=device).normal_()


def memory(meter) -> dict:
    """Achieved rates; a copy counts what it reads and what it writes."""
    size = meter.large()
    source, target = _random(size, meter.device), torch.empty(size // 4, device=meter.device)
    return {
        "dram_copy": 2 * size / meter.seconds(lambda: target.copy_(source)) / 1e9,
        "dram_read": size / meter.seconds(lambda: source.sum()) / 1e9,
        "dram_write": size / meter.seconds(lambda: target.fill_(1.0)) / 1e9,
        "cache_copy": _maybe(meter.cache_copy_gbs),
    }


def arithmetic(meter) -> dict:
    """The library's matrix products in each precision: the best size's median."""
    best = {}
    for precision in ("fp64", "fp32", "tf32", "bf16", "fp16", "int8", "fp8"):
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        rates = [_maybe(lambda n=n, p=precision: 2 * n**3 / meter.seconds(meter.products(p, n)) / 1e12)
                 for n in meter.sizes(precision)]
        best[precision] = max((rate for rate in rates if rate is not None), default=None)
    torch.backends.cuda.matmul.allow_tf32 = False
    return best


def _maybe(measure):
    """None where this card or this torch cannot do it."""
    try:
        return measure()
    except KeyError:
        return None  # not a precision of this device
    except (RuntimeError, TypeError, AttributeError, NotImplementedError, ValueError) as error:
        print(f"calibrate: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        return None


def calibrate(device: str = "auto", quick: bool = False) -> dict:
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    chosen = torch.device(device)
    if chosen.type == "cuda" and chosen.index is None:
        chosen = torch.device("cuda", 0)
    torch.manual_seed(0)
    begin = time.time()
    with torch.no_grad():
        meter = Cpu(chosen, quick) if chosen.type == "cpu" else Gpu(chosen, quick)
        document = {
            "schema": "assay.calibration/1",
            "card": meter.card(),
            "quick": quick,
            "bandwidth_gbs": memory(meter),
            "tflops": arithmetic(meter),
            "launch_us": meter.launch_us(),
        }
    document["measured_at"] = int(begin)
    document["seconds"] = round(time.time() - begin, 1)
    return document


def main() -> int:
    parser = argparse.ArgumentParser(prog="assay.runtime.calibrate")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        document = calibrate(options.device, options.quick)
    except (RuntimeError, AssertionError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    with os.fdopen(answers, "w") as out:
        print(json.dumps(document), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
