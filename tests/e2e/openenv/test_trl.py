"""TRL's GRPOTrainer with `environment_factory`: a real optimisation step on judgements of a real server."""

import os
import subprocess
from pathlib import Path

CLIENT = Path(__file__).parent / "clients/trl_environment.py"


def test_grpo_over_kernel_tool_env(environments, cpu_server, root):
    done = subprocess.run([environments.python("trl"), CLIENT, cpu_server.url, "assay/relu", root / "examples/relu.py"],
                          capture_output=True, text=True, timeout=600, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert "\nDeferredKernelToolEnv {'reward': 0.5" in done.stdout
