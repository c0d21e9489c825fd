"""The compared methods, one file each: NAME, as tables call it, and `estimator(seed, *, quick, **options)`.

A part of another method, PART = (its file, part), is measured in that method's runs, as metrics with the part's name
in front. A method that is the best of several, picked with hindsight by its mean over the seeds, names them as AMONG,
entries that are run instead of it. A method that is not fitted and scored like the others has
`measure(problem, seed, *, quick, **options)` instead, which returns its metrics. BOUND marks what no method could
know, which is never the best of a table. NEEDS names packages without which its runs are left out. What a method is
made of is imported when it is made: names, plans and pages need none of it.
"""

from typing import Any


def network(quick: bool) -> dict[str, Any]:
    """Arguments of every method with a network: the shared recipe, cut short for a rehearsal."""
    from safegain.learners.recipe import Recipe

    return {"recipe": Recipe(n_steps=40)} if quick else {}
