"""ctypes face of libassay_native: shared memory, the go/done words, the GPU driver, the sandbox."""

import ctypes
import json

_library: ctypes.CDLL | None = None
library_path = ""


IN_SLOT = 2**64 - 1  # ControlPage::kInSlot
LOST = 2**64 - 2  # ControlPage::kLost
MAX_PLACES = 1024  # ControlPage::kMaxPlaces
MAX_STRIDED, MAX_DIMS = 16, 8  # ControlPage::kMaxStrided, kMaxDims


class Segment(ctypes.Structure):
    """Device memory shared between processes; ``fd`` is -1 on the importing side."""

    _fields_ = [
        ("address", ctypes.c_ulonglong),
        ("bytes", ctypes.c_size_t),
        ("handle", ctypes.c_uint64),
        ("fd", ctypes.c_int),
    ]


class Quiet(ctypes.Structure):
    _fields_ = [("max_gap_ns", ctypes.c_uint64), ("span_ns", ctypes.c_uint64), ("lost_ns", ctypes.c_uint64)]


class NativeError(RuntimeError):
    """A native call failed; the text says which and why."""


def load(path: str) -> None:
    """Opens the library once; the zygote does, its children inherit it."""
    global _library
    library = ctypes.CDLL(path)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    signatures = {
        "assay_last_error": (text, []),
        "assay_control_map": (pointer, [ctypes.c_int]),
        "assay_control_wait_go": (ctypes.c_int, [pointer, ctypes.c_uint32, ctypes.c_double]),
        "assay_control_calls": (ctypes.c_uint32, [pointer]),
        "assay_control_first_slot": (ctypes.c_uint32, [pointer]),
        "assay_control_done": (None, [pointer, ctypes.c_uint32, ctypes.c_int]),
        "assay_control_places": (
            None,
            [
                pointer,
                ctypes.POINTER(ctypes.c_uint64),
                ctypes.c_size_t,
                ctypes.POINTER(ctypes.c_int64),
                ctypes.c_size_t,
            ],
        ),
        "assay_control_queued": (None, [pointer, ctypes.c_uint32]),
        "assay_control_share": (ctypes.c_uint64, [pointer]),
        "assay_gpu_wait_gate": (ctypes.c_int, [ctypes.c_uint64, ctypes.c_uint32, pointer]),
        "assay_results_region": (None, [ctypes.c_uint64, ctypes.c_size_t]),
        "assay_host_segment_create": (pointer, [ctypes.c_size_t, ctypes.c_int, ctypes.POINTER(ctypes.c_int)]),
        "assay_host_segment_map": (pointer, [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]),
        "assay_host_segment_unmap": (None, [pointer, ctypes.c_size_t]),
        "assay_gpu_open": (ctypes.c_int, [ctypes.c_int]),
        "assay_gpu_segment_create": (ctypes.c_int, [ctypes.c_size_t, ctypes.POINTER(Segment)]),
        "assay_gpu_segment_import": (
            ctypes.c_int,
            [ctypes.c_int, ctypes.c_size_t, ctypes.c_int, ctypes.POINTER(Segment)],
        ),
        "assay_gpu_segment_release": (None, [ctypes.POINTER(Segment)]),
        "assay_gpu_watch_quiet": (ctypes.c_int, [ctypes.c_uint64, ctypes.POINTER(Quiet)]),
        "assay_gpu_look_when": (
            ctypes.c_int,
            [
                pointer,
                ctypes.c_uint32,
                ctypes.c_uint64,
                ctypes.c_uint64,
                ctypes.POINTER(Quiet),
                ctypes.POINTER(ctypes.c_uint64 * 2),
            ],
        ),
        "assay_gpu_reset_persisting_l2": (ctypes.c_int, []),
        "assay_gpu_hold": (
            ctypes.c_int,
            [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32],
        ),
        "assay_gpu_await_hold": (ctypes.c_int, [ctypes.POINTER(Quiet)]),
        "assay_profile_attach": (ctypes.c_int, [text]),
        "assay_profile_start": (ctypes.c_int, [ctypes.c_int]),
        "assay_profile_stop": (ctypes.c_int, []),
        "assay_profile_report": (
            ctypes.c_int,
            [
                ctypes.POINTER(ctypes.c_uint64),
                ctypes.c_size_t,
                ctypes.POINTER(ctypes.c_uint64),
                ctypes.c_size_t,
                ctypes.c_uint32,
                text,
                ctypes.c_size_t,
            ],
        ),
        "assay_profile_detach": (None, []),
        "assay_ghost_patch": (ctypes.c_int, [text]),
        "assay_ghost_skipped": (ctypes.c_uint64, []),
        "assay_sandbox_unshare": (ctypes.c_int, [text, text, ctypes.c_size_t]),
        "assay_sandbox_confine": (
            ctypes.c_int,
            [text, ctypes.POINTER(ctypes.c_int), ctypes.c_int, text, ctypes.c_size_t],
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    _library = library
    global library_path
    library_path = path


def call(name: str, *arguments):
    """Calls a function that returns 0 or fails; raises NativeError with the library's own words."""
    if getattr(_library, name)(*arguments) != 0:
        raise NativeError(last_error())


def last_error() -> str:
    return _library.assay_last_error().decode(errors="replace")


class Control:
    """This process's end of the control page (``src/arena/control_page.h``)."""

    def __init__(self, fd: int):
        self._page = _library.assay_control_map(fd)
        if not self._page:
            raise NativeError(last_error())
        self.on_device = 0  # the page's address there

    def share(self) -> None:
        """Lets the GPU read the page."""
        self.on_device = _library.assay_control_share(self._page)
        if not self.on_device:
            raise NativeError(last_error())

    def wait_gate(self, number: int, stream: int) -> None:
        """What is queued on the CUDA stream from now on waits until the worker lets round ``number`` go."""
        if self.on_device:
            call("assay_gpu_wait_gate", self.on_device, number, stream)

    def look_when(self, number: int, patience: int, nanoseconds: int) -> tuple[float, float, int, int] | None:
        """Waits, ``patience`` nanoseconds at most, until the worker asks for the look after hold
        ``number``, and watches the GPU at once: (largest gap, span) in microseconds and (launch, end) in
        nanoseconds of the monotonic clock. None when nobody asked."""
        quiet, times = Quiet(), (ctypes.c_uint64 * 2)()
        asked = _library.assay_gpu_look_when(
            self._page, number, patience, nanoseconds, ctypes.byref(quiet), ctypes.byref(times)
        )
        if asked < 0:
            raise NativeError(last_error())
        return (quiet.max_gap_ns / 1e3, quiet.span_ns / 1e3, times[0], times[1]) if asked else None

    def queued(self, number: int) -> None:
        """Says that the device has been given all calls of the round."""
        _library.assay_control_queued(self._page, number)

    def wait_go(self, number: int, seconds: float) -> bool:
        """True when round ``number`` began, False when there are no more. Releases the GIL."""
        result = _library.assay_control_wait_go(self._page, number, seconds)
        if result < 0:
            raise TimeoutError("no round began")
        return result == 1

    def calls(self) -> int:
        return _library.assay_control_calls(self._page)

    def first_slot(self) -> int:
        return _library.assay_control_first_slot(self._page)

    def places(self, offsets: list[int], strides: list[tuple[int, ...]]) -> None:
        """Where each output of each call of the round stands in the outputs' memory (on the CPU: its
        address), or IN_SLOT; and the strides that each output has there, in elements."""
        flat = [0] * (MAX_DIMS * len(strides))
        for index, steps in enumerate(strides):
            flat[MAX_DIMS * index : MAX_DIMS * index + len(steps)] = steps
        _library.assay_control_places(
            self._page,
            (ctypes.c_uint64 * len(offsets))(*offsets),
            len(offsets),
            (ctypes.c_int64 * len(flat))(*flat),
            len(flat),
        )

    def done(self, number: int, failed: bool) -> None:
        _library.assay_control_done(self._page, number, int(failed))


def host_create(size: int, sealed: bool) -> tuple[int, int]:
    """(address, fd) of shared host memory; ``sealed``: nobody else can map it for writing."""
    fd = ctypes.c_int(-1)
    address = _library.assay_host_segment_create(size, int(sealed), ctypes.byref(fd))
    if not address:
        raise NativeError(last_error())
    return address, fd.value


def host_map(fd: int, size: int, writable: bool) -> int:
    address = _library.assay_host_segment_map(fd, size, int(writable))
    if not address:
        raise NativeError(last_error())
    return address


def host_unmap(address: int, size: int) -> None:
    _library.assay_host_segment_unmap(address, size)


def gpu_create(size: int) -> Segment:
    segment = Segment()
    call("assay_gpu_segment_create", size, ctypes.byref(segment))
    return segment


def gpu_import(fd: int, size: int, writable: bool) -> Segment:
    segment = Segment()
    call("assay_gpu_segment_import", fd, size, int(writable), ctypes.byref(segment))
    return segment


def gpu_release(segment: Segment) -> None:
    _library.assay_gpu_segment_release(ctypes.byref(segment))


def results_region(begin: int, size: int) -> None:
    """The region that ``assay_results_alloc`` hands out; size 0: none."""
    _library.assay_results_region(begin, size)


def gpu_watch_quiet(nanoseconds: int) -> tuple[float, float]:
    """(largest gap, span) of the GPU's clock in microseconds while watching it."""
    quiet = Quiet()
    call("assay_gpu_watch_quiet", nanoseconds, ctypes.byref(quiet))
    return quiet.max_gap_ns / 1e3, quiet.span_ns / 1e3


def gpu_hold(page: int, number: int, nanoseconds: int, addresses=None, words=None) -> None:
    """Occupies the GPU until the gate of the control page (its device address) says ``number``,
    ``nanoseconds`` at most, and then stores ``words`` at ``addresses``: int64 tensors of one length that
    live until gpu_await_hold()."""
    count = 0 if addresses is None else addresses.numel()
    at = (addresses.data_ptr(), words.data_ptr()) if count else (0, 0)
    call("assay_gpu_hold", nanoseconds, page, number, *at, count)


def gpu_await_hold() -> tuple[float, float, float]:
    """Waits for the end of a hold: (largest jump, sum of the jumps, span) of the GPU's clock during it, in
    microseconds."""
    quiet = Quiet()
    call("assay_gpu_await_hold", ctypes.byref(quiet))
    return quiet.max_gap_ns / 1e3, quiet.lost_ns / 1e3, quiet.span_ns / 1e3


def profile_attach(config: dict) -> None:
    call("assay_profile_attach", json.dumps(config).encode())


def profile_start(window: int) -> None:
    call("assay_profile_start", window)


def profile_stop() -> None:
    call("assay_profile_stop")


def profile_report(own: list[int], library: list[int], calls: int) -> dict:
    """``own``, ``library``: handles of functions whose owner is known."""
    buffer = ctypes.create_string_buffer(1 << 18)
    handles = [(ctypes.c_uint64 * len(part))(*part) for part in (own, library)]
    call("assay_profile_report", handles[0], len(own), handles[1], len(library), calls, buffer, len(buffer))
    return json.loads(buffer.value)


def profile_detach() -> None:
    _library.assay_profile_detach()


def ghost_patch(folder: str) -> None:
    """From now on what was loaded from below ``folder`` launches nothing on the GPU."""
    call("assay_ghost_patch", folder.encode())


def ghost_skipped() -> int:
    return _library.assay_ghost_skipped()


def sandbox_unshare(spec: dict) -> dict:
    report = ctypes.create_string_buffer(1 << 16)
    call("assay_sandbox_unshare", json.dumps(spec).encode(), report, len(report))
    return json.loads(report.value)


def sandbox_confine(spec: dict, keep_fds: list[int], report: dict) -> dict:
    buffer = ctypes.create_string_buffer(json.dumps(report).encode(), 1 << 16)
    keep = (ctypes.c_int * len(keep_fds))(*keep_fds)
    call("assay_sandbox_confine", json.dumps(spec).encode(), keep, len(keep_fds), buffer, len(buffer))
    return json.loads(buffer.value)
