"""Pages say when their results were measured with different code."""

from experiments.digests import mixed_digests
from experiments.plan import Run

from tests.experiments.fakes import SETTING, record

RUNS = [Run("fake", SETTING, "raw", seed) for seed in range(4)]


def measured(*digests: str) -> dict[Run, dict]:
    return {run: {**record(run), "versions": {"code": code}} for run, code in zip(RUNS, digests, strict=False)}


def test_one_digest_needs_no_word():
    assert mixed_digests(RUNS, {}.get) == ""
    assert mixed_digests(RUNS, measured("aa", "aa").get) == ""


def test_runs_are_counted_for_each_digest():
    results = measured("bb", "aa", "aa")
    sentence = (
        "Results of 2 versions of the code are mixed here, by the digest of its files: aa (2 runs), bb (1 run).\n"
    )
    assert mixed_digests(RUNS, results.get) == sentence
    assert mixed_digests([*RUNS, *RUNS], results.get) == sentence  # two artefacts share runs
    assert mixed_digests(RUNS[1:], results.get) == ""  # of the runs on the page alone
