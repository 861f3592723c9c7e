#!/bin/sh
# slime: append these to the arguments of train.py. The dataset's label is the reference module (or its
# metadata has a task_id).
export ASSAY_EVALUATOR="${ASSAY_EVALUATOR:-http://127.0.0.1:8000}" ASSAY_TURNS=3
exec python train.py \
  --advantage-estimator grpo --disable-rewards-normalization \
  --custom-generate-function-path assay.integrations.slime.generate \
  --custom-reward-post-process-path assay.integrations.slime.trloo \
  --use-tis --custom-tis-function-path assay.integrations.slime.mismatch \
  --rollout-sample-filter-path assay.integrations.slime.coverage_filter \
  "$@"
