"""Kernel Env: write GPU kernels, have them judged, train on the reward.

    from kernel_env import KernelAction, KernelEnv

    with KernelEnv("http://127.0.0.1:8000").sync() as env:
        task = env.reset(task_id="assay/relu").observation
        result = env.step(KernelAction(code=my_policy(task.prompt)))
        print(result.reward, result.observation.feedback)

The client of `assay serve`; it needs neither torch nor a GPU. It works with `openenv-core` 0.3.0 and
with newer `openenv` releases, of which exactly one must be installed.
"""

try:
    import openenv  # noqa: F401
except ImportError as error:  # not a dependency: the two distributions share this import package
    raise ImportError("kernel_env needs OpenEnv: pip install openenv (or openenv-core==0.3.0)") from error

from .client import KernelAction, KernelEnv, KernelObservation, KernelState
from .extract import CodeBlockError, extract_code
from .harness import KernelSession, KernelSessionFactory
from .http import evaluate
from .prompts import feedback_message, initial_messages, task_message
from .providers import GpuDockerProvider
from .trl import DeferredKernelToolEnv, KernelToolEnv, kernel_reward

__all__ = [
    "CodeBlockError",
    "DeferredKernelToolEnv",
    "GpuDockerProvider",
    "KernelAction",
    "KernelEnv",
    "KernelObservation",
    "KernelSession",
    "KernelSessionFactory",
    "KernelState",
    "KernelToolEnv",
    "evaluate",
    "extract_code",
    "feedback_message",
    "initial_messages",
    "kernel_reward",
    "task_message",
]
__version__ = "0.1.0"
