"""Data sets, one file each: `problem(setting, seed, *, quick)` makes a weak-label problem of it.

A file may have `prepare()`: slow work that is done once, before runs are handed out, and kept by safegain.datasets.
"""
