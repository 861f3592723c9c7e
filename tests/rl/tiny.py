"""A Qwen2 of a few thousand random weights and a byte-level tokenizer with ChatML's template, made here:
every text has tokens, and nothing is downloaded."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters + SPECIAL)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token=SPECIAL[0], eos_token=SPECIAL[2],
        additional_special_tokens=[SPECIAL[1]], chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def model(seed: int = 0) -> Qwen2ForCausalLM:
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=264, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=16384,
            pad_token_id=256, eos_token_id=258, bos_token_id=None,
        )
    ).eval()  # fmt: skip


@torch.no_grad()
def log_probs(lm: Qwen2ForCausalLM, prompt: list[int], answer: list[int]) -> list[float]:
    """Of the answer's tokens after the prompt."""
    logits = lm(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1].float()
    return torch.log_softmax(logits, -1)[torch.arange(len(answer)), torch.tensor(answer)].tolist()


GOOD = """class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.where(x < 0, torch.zeros_like(x), x)
"""
WRONG = """class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.abs()
"""
BROKEN = "class ModelNew(torch.nn.Module:\n"
REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return []
"""


def answer(code: str) -> str:
    return f"Here it is.\n```python\nimport torch\n{code}```\n"
