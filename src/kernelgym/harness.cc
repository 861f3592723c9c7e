#include "kernelgym/harness.h"

#include <fmt/format.h>

#include <utility>

namespace assay::kernelgym {
namespace {

constexpr const char* kDevice = R"py(

# Added by Assay: where there is no GPU, "cuda" means the device of the judgement.
import functools as _assay_functools
import torch as _assay_torch
from torch.overrides import TorchFunctionMode as _assay_mode


class _AssayDevice(_assay_mode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        def mapped(value):
            named = type(value).__name__ in ("str", "device") and str(value).startswith("cuda")
            return "cpu" if named else value

        if getattr(function, "__name__", "") == "cuda":
            return args[0]
        kwargs = {key: mapped(value) for key, value in (kwargs or {}).items()}
        return function(*map(mapped, args), **kwargs)


def _assay_on_cpu(function):
    @_assay_functools.wraps(function)
    def called(*args, **kwargs):
        if _assay_torch.cuda.is_available():
            return function(*args, **kwargs)
        with _AssayDevice():
            return function(*args, **kwargs)

    return called


for _assay_name in ("get_cases", "get_inputs", "get_init_inputs"):
    if _assay_name in globals():
        globals()[_assay_name] = _assay_on_cpu(globals()[_assay_name])
)py";

constexpr const char* kCompiled = R"py(

# Added by Assay: reference_backend asks for torch.compile.
import functools as _assay_functools
import torch as _assay_torch

_assay_forward = _assay_torch.compile({entry}.forward)


@_assay_functools.wraps({entry}.forward)
def _assay_compiled(self, *args, **kwargs):
    return _assay_forward(self, *args, **kwargs)


{entry}.forward = _assay_compiled
)py";

constexpr const char* kPlain = R"py(

# Added by Assay: results in one form, lists for tuples and tensors for numbers.
import torch as _assay_torch


def _assay_plain(value):
    if isinstance(value, (list, tuple)):
        return [_assay_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _assay_plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return _assay_torch.tensor(value, dtype=_assay_torch.float64)
    if isinstance(value, (bool, int)):
        return _assay_torch.tensor(value)
    return value
)py";

constexpr const char* kSubmission = R"py(

# Added by Assay: one call of this module runs every case.
_assay_one = {entry}.forward


def _assay_all(self, *cases):
    return [_assay_plain(_assay_one(self, *case)) for case in cases]


{entry}.forward = _assay_all
)py";

constexpr const char* kOwnInit = R"py(
if "get_init_inputs" in globals():
    _assay_init = {entry}.__init__

    def _assay_own_init(self, *_, **__):
        match list(get_init_inputs()):
            case [[], dict() as named]:
                _assay_init(self, **named)
            case positional:
                _assay_init(self, *positional)

    {entry}.__init__ = _assay_own_init
)py";

/// The reference knows the answer of the cases that were drawn last, which are the ones that it is
/// asked about; in a process that draws none it answers with the right shapes.
constexpr const char* kReference = R"py(

# Added by Assay: the cases as a task. Each drawing calls get_cases() with a fresh hidden seed.
_assay_own_inputs = globals().get("get_inputs")
_assay_answer = None


def _assay_split(case, number):
    if not isinstance(case, dict) or not ("outputs" in case or "output" in case):
        raise ValueError(f"case {number} has no outputs: without them nothing can be checked")
    if "inputs" in case:
        given = case["inputs"]
        inputs = list(given) if isinstance(given, (list, tuple)) else [given]
    elif "input" in case:
        inputs = [case["input"]]
    else:
        raise ValueError(f"case {number} has no inputs")
    return inputs, _assay_plain(case["outputs"] if "outputs" in case else case["output"])


def _assay_tensors(value):
    if isinstance(value, _assay_torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in _assay_tensors(item)] if isinstance(value, (list, tuple)) else []


def _assay_copied(value, device):
    if isinstance(value, _assay_torch.Tensor):
        return value.detach().to(device, copy=True)
    if isinstance(value, dict):
        return {key: _assay_copied(item, device) for key, item in value.items()}
    return [_assay_copied(item, device) for item in value] if isinstance(value, list) else value


def _assay_cases():
    globals()["get_inputs"] = _assay_own_inputs  # get_cases() may call it
    try:
        cases = list(get_cases())
    finally:
        globals()["get_inputs"] = _assay_get_inputs
    if not cases:
        raise ValueError("get_cases() returned no cases")
    return [_assay_split(case, number) for number, case in enumerate(cases)]


def _assay_get_inputs():
    global _assay_answer
    pairs = _assay_cases()
    inputs = [pair[0] for pair in pairs]
    _assay_answer = ([t.dtype for t in _assay_tensors(inputs)], [pair[1] for pair in pairs])
    return inputs


get_inputs = _assay_get_inputs

if "get_init_inputs" not in globals():

    def get_init_inputs():
        return []


class AssayReference(_assay_torch.nn.Module):
    def __init__(self, *init_inputs, **named):
        super().__init__()

    def forward(self, *cases):
        if _assay_answer is None:
            _assay_get_inputs()
        dtypes, answer = _assay_answer
        tensors = _assay_tensors(cases)
        if [t.dtype for t in tensors] != dtypes:
            raise TypeError("the expected outputs are given, not computed: there is no other precision")
        return _assay_copied(answer, tensors[0].device if tensors else "cpu")
)py";

/// Tensors that a submission's own cases may make: enough for every ordinary test, little enough
/// that they cannot exhaust the process that keeps everyone's expected outputs.
constexpr const char* kBounded = R"py(

# Added by Assay: the submission wrote these cases, so their size is looked at before they are made.
from torch.overrides import TorchFunctionMode as _assay_mode_of

_ASSAY_MOST_ELEMENTS = 1 << 26
_ASSAY_MOST_OPERATIONS = 1000
_assay_looked = False


class _AssayMeta(_assay_mode_of):
    def __init__(self):
        super().__init__()
        self.elements = self.operations = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None:
            kwargs["device"] = "meta"
        if getattr(function, "__name__", "") in ("cuda", "cpu"):
            return args[0]
        args = ["meta" if isinstance(a, (str, _assay_torch.device)) else a for a in args]
        result = function(*args, **kwargs)
        self.operations += 1
        if isinstance(result, _assay_torch.Tensor):
            self.elements += result.numel()
        if self.operations > _ASSAY_MOST_OPERATIONS or self.elements > _ASSAY_MOST_ELEMENTS:
            raise ValueError("the cases in kernel_code are too large; send them as cases_code")
        return result


def _assay_bounded(function):
    def called():
        global _assay_looked
        if not _assay_looked:
            with _assay_torch.device("meta"), _AssayMeta():
                function()
            _assay_looked = True
        return function()

    return called


get_cases = _assay_bounded(get_cases)
)py";

constexpr const char* kFromJson = R"py(
import json
import math

import torch

CASES = json.loads({text})
TYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")


def shape(value):
    """Of nested lists of numbers; None for anything else, ragged ones included."""
    if isinstance(value, (bool, int, float)):
        return ()
    if not isinstance(value, list) or not value:
        return None
    shapes = {{shape(item) for item in value}}
    return (len(value), *shapes.pop()) if len(shapes) == 1 and None not in shapes else None


def decoded(value):
    if isinstance(value, dict) and set(value) == {{"data", "dtype"}}:
        if value["dtype"] not in TYPES:
            raise ValueError("dtype is one of " + ", ".join(TYPES))
        return torch.tensor(value["data"], dtype=getattr(torch, value["dtype"]))
    if isinstance(value, dict):
        return {{key: decoded(item) for key, item in value.items()}}
    if isinstance(value, list):
        return torch.tensor(value) if shape(value) else [decoded(item) for item in value]
    return value


def arguments(value):
    return [decoded(item) for item in value] if isinstance(value, list) else [decoded(value)]


def get_cases():
    cases = []
    for case in CASES:
        new = {{}}
        for key in ("outputs", "output"):
            if key in case:
                new["outputs"] = decoded(case[key])
        if "inputs" in case:
            new["inputs"] = arguments(case["inputs"])
        elif "input" in case:
            new["inputs"] = [decoded(case["input"])]
        cases.append(new)
    return cases
)py";

std::string Formatted(const char* text, const std::string& entry) {
  return fmt::format(fmt::runtime(text), fmt::arg("entry", entry));
}

}  // namespace

std::string ReferenceSource(std::string reference_code, const std::string& entry, bool compiled) {
  const bool names_cuda = reference_code.find("cuda") != std::string::npos;
  if (compiled) reference_code += Formatted(kCompiled, entry);
  if (names_cuda) reference_code += kDevice;
  return reference_code;
}

std::string CasesSource(std::string cases_code, bool bounded) {
  const bool names_cuda = cases_code.find("cuda") != std::string::npos;
  cases_code += kPlain;
  if (bounded) cases_code += kBounded;
  if (names_cuda) cases_code += kDevice;
  return cases_code + kReference;
}

std::string CasesFromJson(const json::array& cases) {
  // JSON text as a JSON string is also a literal of Python.
  const std::string text = json::serialize(json::value(json::string(json::serialize(cases))));
  return fmt::format(fmt::runtime(kFromJson), fmt::arg("text", text));
}

std::string CasesSubmission(std::string kernel_code, const std::string& entry, bool own_init) {
  kernel_code += kPlain;
  kernel_code += Formatted(kSubmission, entry);
  if (own_init) kernel_code += Formatted(kOwnInit, entry);
  return kernel_code;
}

}  // namespace assay::kernelgym
