"""The thin Python side of the engine: zygote, judge and candidate processes.

Nothing here decides a verdict. The C++ worker owns deadlines, clocks and verdicts; these processes
only do what needs torch: load modules, call them, make inputs, compare tensors.
"""
