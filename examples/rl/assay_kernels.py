"""The plugin module by which verifiers finds Assay's taskset and environment; put it on PYTHONPATH.

    eval assay-kernels --env.taskset.path tasks.jsonl --env.taskset.task.evaluator http://127.0.0.1:8000
"""

from assay.integrations.verifiers import KernelEnv, KernelTask, KernelTaskset

__all__ = ["KernelEnv", "KernelTask", "KernelTaskset"]
