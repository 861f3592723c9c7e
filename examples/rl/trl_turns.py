"""TRL with one advantage per turn. `play` is yours: it holds one conversation and returns its tokens.

python trl_turns.py MODEL DATASET_WITH_A_PROMPT_COLUMN.jsonl
"""

import sys
from importlib import import_module

from datasets import load_dataset
from trl import GRPOConfig

from assay.integrations.trl import TurnGRPOTrainer, TurnOptions

play = import_module("my_environment").play  # (prompt, trainer) -> dict with the keys below, scalars

KEYS = ("prompt_ids", "completion_ids", "logprobs", "env_mask", "turn_spans", "turn_rewards",
        "turn_correct", "turn_coverage")  # fmt: skip


def rollout(prompts, trainer):
    conversations = [play(prompt, trainer) for prompt in prompts]
    return {key: [c[key] for c in conversations] for key in KEYS}


def total(completions, turn_rewards, **_):
    """For the logs; the advantages come from the turns."""
    return [sum(r) for r in turn_rewards]


if __name__ == "__main__":
    model, data = sys.argv[1:3]
    TurnGRPOTrainer(
        model=model,
        reward_funcs=total,
        args=GRPOConfig(output_dir="out", num_generations=8, loss_type="dr_grpo", epsilon_high=0.28),
        train_dataset=load_dataset("json", data_files=data, split="train"),
        rollout_func=rollout,
        turn_options=TurnOptions(
            gamma=1.0, coverage={"threshold": 0.3, "width": 0.1}
        ),
    ).train()
