"""When a reference gives way: scores by hand."""

import numpy as np
import pytest
import torch

from safegain.search.contest import (
    CHANCE,
    SafenessReport,
    Score,
    SetMargin,
    better,
    fell_back,
    safe,
    trained_on,
    worse_on,
)

MARGINS = (SetMargin.between("held-out rows", 0.75, 0.5), SetMargin.between("class 3", 0.25, 0.375))


def test_a_reference_gives_way_unless_the_refit_is_worse_beyond_chance():
    def score(losses, wrong):
        return Score(torch.tensor(losses, dtype=torch.float64), torch.tensor(wrong))

    old = score([1.0, 1.0, 1.0, 1.0], [False] * 4)
    assert old.gives_way_to(old)
    # Losses that differ by (1, 0, 0, 0) are one standard error more, by (1, 1, 1, 0) three; so with mistakes.
    assert old.gives_way_to(score([2.0, 1.0, 1.0, 1.0], [False] * 4))
    assert not old.gives_way_to(score([2.0, 2.0, 2.0, 1.0], [False] * 4))
    assert old.gives_way_to(score([1.0] * 4, [True, False, False, False]))
    assert not old.gives_way_to(score([0.0] * 4, [True, True, True, False]))
    # By (1, 1, 1, -x): the mean is (3 - x) / 4 and the standard error (1 + x) / 4, which is c of them at
    # x = (3 - c) / (1 + c).
    for c in (0.95 * CHANCE, 1.05 * CHANCE):
        x = (3 - c) / (1 + c)
        assert old.gives_way_to(score([2.0, 2.0, 2.0, 1.0 - x], [False] * 4)) == (c < CHANCE)
    z = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    of = Score.of_logits(z, torch.tensor([0, 0, 1, 1]))
    assert of.wrong.tolist() == [False, False, False, True]
    assert of.mistakes == 1
    assert of.loss == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))  # at the best temperature
    assert Score.of_logits(9 * z, torch.tensor([0, 0, 1, 1])).loss == pytest.approx(of.loss)


def test_margins():
    assert (SetMargin("held-out rows", 0.75, 0.5, 0.25), SetMargin("class 3", 0.25, 0.375, -0.125)) == MARGINS


def test_a_safe_outcome():
    assert safe("better by far") == (
        "Safe: better by far. This is a comparison on the rows at hand, not a certificate."
    )


def test_a_fall_back_says_why_and_to_what():
    assert fell_back("the refit was worse", "raw+trusted") == (
        "Fell back: the refit was worse, so this is the reference, trained on raw+trusted rows."
    )
    assert fell_back("the refit was worse", "raw", "The search ran.") == (
        "Fell back: the refit was worse, so this is the reference, trained on raw rows. The search ran."
    )


def test_a_reference_by_its_rows():
    assert trained_on("trusted") == "the reference, trained on trusted rows"


def test_a_reference_of_several_learners_has_a_name():
    named = "the reference, Linear(alpha=2) trained on raw rows"
    assert trained_on("raw", "Linear(alpha=2)") == named
    assert (
        fell_back("it was worse", "raw", learner="Linear(alpha=2)") == f"Fell back: it was worse, so this is {named}."
    )
    assert better(0.9, 1.0, "raw", "Linear(alpha=2)") == f"better than {named}"


@pytest.mark.parametrize(
    ("new", "words"),
    [(0.9, "better than"), (1.0, "not worse, chance aside, than"), (1.1, "not worse, chance aside, than")],
)
def test_better_only_where_the_loss_is_less(new, words):
    assert better(new, 1.0, "raw") == f"{words} the reference, trained on raw rows"


def test_the_sets_on_which_a_model_lost():
    assert worse_on(MARGINS) == "the new model was worse on class 3"
    lost = [SetMargin.between(name, 1.0, 2.0) for name in ("class a", "class b")]
    assert worse_on(lost) == "the new model was worse on class a, class b"
    assert worse_on(MARGINS[:1]) is None
    assert worse_on([SetMargin.between("a tie", 1.0, 1.0)]) is None
    assert worse_on([]) is None


def test_a_report_in_print():
    report = SafenessReport(False, 3, MARGINS, "Safe: so it is.")
    assert str(report).splitlines() == [
        "Safe: so it is.",
        "  held-out rows  reference 0.75  new 0.5  margin +0.25",
        "  class 3        reference 0.25  new 0.375  margin -0.125",
    ]
    assert str(SafenessReport(True, None, (), "Fell back.")) == "Fell back."


def test_a_report_after_a_fall_back():
    fallen = SafenessReport(False, 3, MARGINS, "Safe: so it is.").fallen_back("Fell back: no.")
    sets = (SetMargin("held-out rows", 0.75, 0.75, 0.0), SetMargin("class 3", 0.25, 0.25, 0.0))
    assert fallen == SafenessReport(True, None, sets, "Fell back: no.")


def test_rows_count_by_their_weight():
    """Whole weights are rows that are there so many times: means to the bit, standard errors but for their n - 1."""
    random = np.random.default_rng(0)
    old, new = (torch.from_numpy(random.normal(size=40)) for _ in range(2))
    wrong = [torch.from_numpy(random.random(40) < 0.3) for _ in range(2)]
    weight = torch.from_numpy(random.integers(0, 4, 40)).double()
    times = torch.arange(40).repeat_interleave(weight.long())
    mine = [Score(losses, each, weight) for losses, each in zip((old, new), wrong, strict=True)]
    repeated = [Score(losses[times], each[times]) for losses, each in zip((old, new), wrong, strict=True)]
    for one, other in zip(mine, repeated, strict=True):
        assert one.loss == pytest.approx(other.loss)
        assert Score(one.losses, one.wrong, 7 * weight).loss == pytest.approx(one.loss)
    share = weight / weight.sum()
    off = ((share * (old - mine[0].loss)) ** 2).sum() * 40 / 39
    assert mine[0]._mean(old)[1] == pytest.approx(float(off.sqrt()))
    same = Score(old, wrong[0], torch.full((40,), 3.0, dtype=torch.float64))
    assert same._mean(old)[1] == pytest.approx(float(old.std()) / 40**0.5)
    worse = Score(old + torch.where(torch.arange(40) < 20, 1.0, -1.0) + 0.01 * new, wrong[0])
    assert Score(old, wrong[0], (torch.arange(40) >= 20).double()).gives_way_to(worse)
    assert not Score(old, wrong[0], (torch.arange(40) < 20).double()).gives_way_to(worse)
