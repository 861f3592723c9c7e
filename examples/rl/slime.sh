#!/bin/sh
# slime: append these to the arguments of train.py. The custom generate function returns one Sample per
# turn with metadata["assay"] (see assay/integrations/slime.py).
exec python train.py \
  --advantage-estimator grpo --disable-rewards-normalization \
  --custom-reward-post-process-path assay.integrations.slime.trloo \
  --use-tis --custom-tis-function-path assay.integrations.slime.mismatch \
  --rollout-sample-filter-path assay.integrations.slime.coverage_filter \
  "$@"
