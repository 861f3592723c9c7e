"""TRL's GRPOTrainer over `environment_factory=KernelToolEnv`: one real optimisation step of a tiny random model.

    trl_environment.py URL TASK RIGHT.py

The model is random, but a random model calls no tool in the lifetime of a test: what it "samples" is
scripted (every other rollout submits RIGHT.py, the others a wrong kernel, then all say a word). Everything
else is TRL's own: chat template, tool schemas, the tool loop, rewards, loss, optimiser.
"""

import importlib.resources
import json
import os
import sys
import tempfile
from pathlib import Path

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from kernel_env import DeferredKernelToolEnv, KernelToolEnv

WRONG = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tokenizer():
    """Bytes, and what Qwen3's chat template needs."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=core, pad_token=SPECIAL[0], eos_token=SPECIAL[2],
                                   additional_special_tokens=[SPECIAL[1]])
    made.chat_template = importlib.resources.files("trl").joinpath("chat_templates/qwen3.jinja").read_text()
    return made


class Scripted(Qwen3ForCausalLM):
    """Answers a task with a call of the tool, and the tool's answer with a word."""

    words: PreTrainedTokenizerFast
    kernels: list[str]
    prompts: list[str] = []

    def generate(self, input_ids=None, **_):
        rows = []
        for number, ids in enumerate(input_ids):
            text = self.words.decode(ids)
            type(self).prompts.append(text)
            if "<tool_response>" in text:
                said = "Done."
            else:
                call = {"name": "submit_kernel", "arguments": {"code": self.kernels[number % len(self.kernels)]}}
                said = f"<tool_call>\n{json.dumps(call)}\n</tool_call>"
            rows.append(torch.tensor(self.words(said + "<|im_end|>")["input_ids"]))
        new = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.words.pad_token_id)
        return torch.cat([input_ids, new.to(input_ids.device)], 1)


def train(factory, url: str, task: str, right: str) -> dict:
    os.environ["KERNEL_ENV_URL"] = url
    Scripted.words, Scripted.kernels, Scripted.prompts = tokenizer(), [right, WRONG], []
    torch.manual_seed(0)
    model = Scripted(Qwen3Config(
        vocab_size=len(Scripted.words) + 8, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=16384,
        pad_token_id=Scripted.words.pad_token_id, eos_token_id=Scripted.words.eos_token_id))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    row = {"prompt": [{"role": "user", "content": "Write a fast kernel."}], "task_id": task,
           "reward_mode": "correctness", "max_turns": 2, "answer": "a column that the environment does not know"}
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model, processing_class=Scripted.words, train_dataset=Dataset.from_list([row] * 4),
            environment_factory=factory,
            args=GRPOConfig(output_dir=folder, num_generations=4, per_device_train_batch_size=4, max_steps=1,
                            max_completion_length=8192, learning_rate=1e-2, report_to=[], logging_steps=1,
                            use_cpu=True, beta=0.0, max_tool_calling_iterations=2))
        trainer.train()
        logged = {key: value for entry in trainer.state.log_history for key, value in entry.items()}
    moved = any(not torch.equal(old, new) for old, new in zip(before, model.parameters()))
    assert moved, "the step changed nothing"
    return logged


def main() -> None:
    url, task, path = sys.argv[1:]
    for factory in (KernelToolEnv, DeferredKernelToolEnv):
        logged = train(factory, url, task, Path(path).read_text())
        first = Scripted.prompts[0]
        assert "class Model" in first and "submit_kernel" in first, "the task and the tool are in the prompt"
        assert logged["reward"] == 0.5, logged  # two of four are right
        assert logged["grad_norm"] > 0, logged
        assert logged["tools/call_frequency"] == 1 and logged["tools/failure_frequency"] == 0, logged
        print(factory.__name__, {key: logged[key] for key in ("reward", "reward_std", "grad_norm")})


main()
