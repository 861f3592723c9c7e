"""Starts the server, which is the `assay` binary."""
