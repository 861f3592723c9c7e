"""The task and the submission by which ``assay timer-check`` measures the instrument itself."""
