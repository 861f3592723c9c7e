"""Turns an exception inside a submission into what its author can act on.

The text is untrusted (a submission may raise anything) and goes only into feedback; what kind of
failure it is decides between compile and run-time errors, never about being paid.
"""

import os
import re
import traceback

import torch

MAX_TEXT = 16_000
_TOOL_ERROR = re.compile(r"^(?P<file>[^\s:(]+)[:(](?P<line>\d+)[:)]:?(?:\d+:)?\s*(?P<kind>fatal error|error)\s*:\s*(?P<text>.*)$")


def describe(error: BaseException, submission_path: str, source: str) -> dict:
    """{kind, name, message, line} of an exception raised while loading or calling a submission."""
    kind, message = _kind(error), _message(error)
    line = _line(error, submission_path)
    if kind == "compile_error":
        message, tool_line = _compiler_text(message, source)
        line = tool_line or _kernel_line(error, submission_path, source) or line
    return {"kind": kind, "name": type(error).__name__.encode("utf-8", "replace").decode(), "message": message[:MAX_TEXT], "line": line}


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(the exception's text cannot be read)"
    # A lone surrogate (an undecodable path) is legal in Python and not in JSON.
    return text.encode("utf-8", "replace").decode() if text else type(error).__name__


def _kind(error: BaseException) -> str:
    text = _message(error)
    module, name = type(error).__module__ or "", type(error).__name__
    if isinstance(error, SyntaxError):
        return "syntax_error"
    # Out of memory, torch's allocator asks NVML who holds it; without NVML it reports that instead.
    if isinstance(error, torch.OutOfMemoryError) or "CUDA out of memory" in text or "nvmlInit_v2_()" in text:
        return "device_memory"
    if isinstance(error, MemoryError) or "DefaultCPUAllocator: can't allocate" in text:
        return "host_memory"
    if "CUDA error" in text or "device-side assert" in text or "illegal memory access" in text:
        return "device_fault"
    if module.startswith("triton") and ("compil" in module or "compil" in name.lower()):
        return "compile_error"
    if "Error building extension" in text or "Error compiling objects" in text or name == "InterpreterError":
        return "compile_error"
    if module.startswith("triton") and name in ("PTXASError", "OutOfResources"):
        return "compile_error"
    return "exception"


def _line(error: BaseException, submission_path: str) -> int:
    """The deepest line of the submission itself in the traceback."""
    if isinstance(error, SyntaxError) and error.filename == submission_path:
        return error.lineno or 0
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if line := _frame_line(current, submission_path):
            return line
        current = current.__cause__ or current.__context__
    return 0


def _kernel_line(error: BaseException, submission_path: str, source: str) -> int:
    """The line inside a Triton kernel that does not compile; the traceback ends at the launch.

    The first cause that has a line knows best: a kernel that calls a broken function only passes its
    error on."""
    seen: set[int] = set()
    line = 0
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        line = _compiler_line(current, source) or _frame_line(current, submission_path) or line
        current = current.__cause__
    return line


def _compiler_line(error: BaseException, source: str) -> int:
    """Triton's compiler names a node, counted from the kernel's `def`."""
    node, text = getattr(error, "node", None), getattr(error, "src", None)
    if not isinstance(getattr(node, "lineno", None), int) or not isinstance(text, str):
        return 0
    definition = text.split("\n", 1)[0].strip()
    hits = [i for i, line in enumerate(source.splitlines()) if line.strip() == definition]
    return hits[0] + node.lineno if len(hits) == 1 else 0


def _frame_line(error: BaseException, submission_path: str) -> int:
    line = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == submission_path:
            line = frame.lineno or line
    return line


def _compiler_text(text: str, source: str) -> tuple[str, int]:
    """Keeps a compiler's errors and maps them to lines of the submission.

    Compilers report lines of the file that the build wrote from the submission's string; the text
    of that line is looked up in the submission."""
    kept, first_line, seen = [], 0, set()
    for raw in text.splitlines():
        match = _TOOL_ERROR.match(raw.strip())
        if not match:
            continue
        line = _submission_line(match["file"], int(match["line"]), source)
        first_line = first_line or line
        entry = f"line {line}: {match['text']}" if line else f"{os.path.basename(match['file'])}: {match['text']}"
        if entry not in seen:
            seen.add(entry)
            kept.append(entry)
    return ("\n".join(kept[:10]) if kept else text), first_line


def _submission_line(path: str, number: int, source: str) -> int:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        wanted = lines[number - 1].strip()
    except (OSError, IndexError):
        return 0
    if not wanted:
        return 0
    hits = [i + 1 for i, text in enumerate(source.splitlines()) if text.strip() == wanted]
    return hits[0] if len(hits) == 1 else 0
