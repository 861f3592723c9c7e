"""A small Triton kernel that is compiled in the zygote and launched while a candidate warms up:
the submission's first kernel then finds driver, compiler and launcher ready."""

import triton
import triton.language as tl


@triton.jit
def _scale(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2.0, mask=mask)


def launch(x) -> None:
    _scale[(triton.cdiv(x.numel(), 256),)](x, x.numel(), BLOCK=256)


def compile_ahead(capability: int) -> None:
    """Compiles for ``sm_<capability>`` without a CUDA context."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(fn=_scale, signature={"x_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 256})
    kernel = triton.compile(source, target=GPUTarget("cuda", capability, 32))
    # The driver's helper and the launcher are C modules that Triton builds with the C compiler, a
    # quarter of a second each: built once, here, and found in the copied cache by every child.
    from triton.backends.nvidia.driver import CudaLauncher, CudaUtils

    CudaUtils()
    CudaLauncher(kernel.src, kernel.metadata)
