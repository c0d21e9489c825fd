"""One file for each figure: NAME, TITLE, HOW, `runs(quick)` and `render(results, path, quick)`, which draws it.

`render` returns False, and draws nothing, where there is no result yet.
"""
