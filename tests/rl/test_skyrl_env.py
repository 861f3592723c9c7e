"""The environment through the real skyrl_gym, judged by assay eval; SkyRL's example configuration."""

import importlib
import os
import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/rl"
try:
    skyrl_gym = importlib.import_module("skyrl_gym")
except Exception:  # noqa: BLE001  whatever an engine raises on import
    pytest.skip("skyrl-gym is not installed: its environment is NOT tested", allow_module_level=True)

REFERENCE = (
    "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x): return torch.relu(x)\n"
    "def get_inputs(): return [torch.randn(16, 16)]\ndef get_init_inputs(): return []\n"
)
GOOD = "```python\nimport torch\nclass ModelNew(torch.nn.Module):\n  def forward(self, x): return x.clamp(min=0)\n```"


def test_an_episode_through_skyrl_gym(assay_bin):
    from assay.integrations import skyrl_env

    skyrl_env.register()
    skyrl_env.register()
    config = {
        "turns": 3, "options": {"time": False, "trials": 2},
        "evaluator": {"where": "command", "program": str(assay_bin), "python": os.environ["ASSAY_PYTHON"],
                      "device": "cpu"},
    }  # fmt: skip
    env = skyrl_gym.make(
        "assay_kernel", env_config=config, extras={"reward_spec": {"ground_truth": REFERENCE}}
    )
    prompt, _ = env.init([{"role": "user", "content": "Write it."}])
    wrong = env.step(GOOD.replace("x.clamp(min=0)", "x"))
    assert (wrong["reward"], wrong["done"]) == (0.0, False)
    assert "Incorrect: 0 of 2" in wrong["observations"][0]["content"]
    right = env.step(GOOD)
    assert (right["reward"], right["done"], right["metadata"]["correct"]) == (0.5, False, True)
    last = env.step("nothing")
    assert last["done"] and last["observations"] == [] and last["metadata"]["keep"] == [True, True, False]
    metrics = env.get_metrics()
    assert metrics["turns"] == 3 and metrics["reward_best"] == 0.5
    assert skyrl_env.KernelEnv.aggregate_metrics([metrics, metrics])["turns"] == 3
    with pytest.raises(ValueError, match="names no task"):
        skyrl_env.KernelEnv(config, {})
    # A task of the server's: what was asked is the prompt that SkyRL gives.
    named = skyrl_env.KernelEnv(config, {"task_id": "assay/relu"})
    asked = [{"role": "user", "content": "Write it."}]
    named.init(asked)
    assert named.talk.messages == asked


def test_the_example_configuration_is_skyrls():
    """Every key of it is in SkyRL's own configuration."""
    omegaconf = pytest.importorskip("omegaconf")
    try:
        skyrl = importlib.import_module("skyrl.train.config")
        adapter = importlib.import_module("assay.integrations.skyrl")
    except Exception as error:  # noqa: BLE001
        pytest.skip(f"skyrl.train.config cannot be imported here: {error}")
    example = omegaconf.OmegaConf.load(EXAMPLES / "skyrl.yaml")
    correction = omegaconf.OmegaConf.to_container(example.trainer.algorithm.off_policy_correction)
    assert correction == adapter.rejection()

    def fits(example, config, where=""):
        for name, value in example.items():
            assert hasattr(config, name), f"{where}{name}"
            if omegaconf.OmegaConf.is_dict(value):
                fits(value, getattr(config, name), f"{where}{name}.")

    fits(example, skyrl.SkyRLTrainConfig())
