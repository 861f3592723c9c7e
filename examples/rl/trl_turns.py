"""TRL with one advantage per turn, judged by Assay.

    python trl_turns.py MODEL TASKS.jsonl http://127.0.0.1:8000     # or `command`: assay eval here

A row of TASKS names a task: {"task_id": "assay/relu", "prompt": [messages]}, or {"task_source": "a reference
module"} alone, for which the prompt is made.
"""

import json
import sys
from pathlib import Path

from datasets import Dataset
from trl import GRPOConfig

from assay.integrations.conversation import Conversation, Task
from assay.integrations.evaluator import make_evaluator
from assay.integrations.trl import TurnGRPOTrainer, TurnOptions, conversation_rollout


def total(completions, turn_rewards, **_):
    """For the logs; the advantages come from the turns."""
    return [sum(rewards) for rewards in turn_rewards]


def trainer(model, rows, evaluator, *, turns=3, tokenizer=None, **config):
    tasks = [Task.from_row(row) for row in rows]
    settings = {
        "output_dir": "out", "num_generations": 8, "loss_type": "dr_grpo", "epsilon_high": 0.28,
        "max_completion_length": 16384,
    }  # fmt: skip
    return TurnGRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=total,
        args=GRPOConfig(**(settings | config)),
        train_dataset=Dataset.from_list([{"prompt": Conversation(t).messages} for t in tasks]),
        rollout_func=conversation_rollout(evaluator, tasks, turns=turns),
        turn_options=TurnOptions(gamma=1.0, coverage={"threshold": 0.3, "width": 0.1}),
    )


if __name__ == "__main__":
    name, tasks, where = sys.argv[1:4]
    lines = Path(tasks).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    trainer(name, rows, make_evaluator(where)).train()
