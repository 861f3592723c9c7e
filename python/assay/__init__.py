"""Assay judges GPU kernels written by language models. Importing this is cheap: no torch, no GPU."""

__version__ = "0.1.0"
