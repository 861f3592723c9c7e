"""Errors of compilers that this machine may lack, mapped to the submission's own lines."""

import importlib.util

import pytest

from engine_harness import submissions


def describe(error, submission, path=""):
    from assay.runtime import diagnose

    return diagnose.describe(error, path, submission.source)


@pytest.mark.parametrize("shape", ["{path}({line}): error: {text}", "{path}({line}): fatal error: {text}",
                                   "{path}:{line}:13: error: {text}", "{path}:{line}: error: {text}"])
def test_lines_of_a_generated_file(tmp_path, shape):
    """A compiler names lines of the file that the build wrote; its text is looked up in the submission."""
    submission = submissions()["nvcc"]
    kernel = submission.source.split('r"""')[1].split('"""')[0]
    path = tmp_path / "cuda.cu"
    path.write_text("#include <cuda.h>\n" + kernel)
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "blockIdxx" in text)
    said = shape.format(path=path, line=line, text='identifier "blockIdxx" is undefined')
    text = f"Error building extension 'x': [1/3] nvcc -c cuda.cu\nFAILED: cuda.o\n{said}\n  {kernel}\nninja: build stopped"
    found = describe(RuntimeError(text), submission)
    assert found["kind"] == "compile_error"
    assert found["line"] == submission.line
    assert found["message"] == f'line {submission.line}: identifier "blockIdxx" is undefined'


@pytest.mark.parametrize("name", ["triton_undefined", "triton_no_such_function"])
def test_lines_of_a_kernel(name):
    """Triton's compiler counts from the kernel's `def`. It needs no GPU to get that far."""
    pytest.importorskip("triton")
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    submission = submissions()[name]
    spec = importlib.util.spec_from_file_location(name, submission.path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = ASTSource(fn=module.relu_kernel, signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
                       constexprs={"BLOCK": 256})
    with pytest.raises(triton.TritonError) as raised:
        triton.compile(source, target=GPUTarget("cuda", 90, 32))
    found = describe(raised.value, submission, str(submission.path))
    assert (found["kind"], found["line"]) == ("compile_error", submission.line)


def test_an_exception_chain_without_end():
    """A submission may link its exceptions in a ring."""
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert describe(first, submissions()["torch_relu"])["message"] == "first"
