"""What the report says of a contest of learners."""

from dataclasses import astuple

import pytest

from safegain.report.leaderboard import MOST_SHOWN, leaderboard, learner_words
from safegain.runs import RunError, open_run
from tests.report.html import change, fallen_back, page
from tests.run_folders import make_run

TITLE = "The learners that took part"


def standing(learner, trained_on, loss, share=0.0, **more):
    return {
        "learner": learner,
        "trained_on": trained_on,
        "loss": loss,
        "mistakes": 7,
        "share": share,
        "seconds": 0.25,
    } | more


BOARD = [
    standing("Forest(min_samples_leaf=1)", "corrected", 0.2, 0.38, mistakes=3),
    standing("Boosting(max_iter=300)", "corrected", 0.25, 0.62, seconds=12.345),
    standing("Linear()", "trusted", 0.3),
    standing("Forest(min_samples_leaf=5)", "raw+trusted", 0.4),
    standing("Forest(min_samples_leaf=10, random_splits=False)", "raw+trusted", 1234567.0),
    standing("Network()", "raw", 1.5),
]


def with_board(folder, board, outcome="safe", reference="raw+trusted"):
    fitted = {"leaderboard": board}
    verdict = {"outcome": outcome, "reference": reference, "sentence": "Said."}
    return change(folder, estimator={"fitted": fitted}, verdict=verdict, certificate=None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Forest(min_samples_leaf=5)", ("forest", "leaves of 5 rows")),
        ("Forest(n_trees=1, min_samples_leaf=1)", ("forest", "1 tree, leaves of 1 row")),
        ("Forest(random_splits=False, bootstrap=True)", ("forest", "best splits, rows drawn with replacement")),
        (
            "Boosting(max_iter=300, max_leaf_nodes=15, categorical=(1, 4), l2=0.5)",
            ("boosting", "at most 300 steps, at most 15 leaves, categorical=(1, 4), l2=0.5"),
        ),
        ("DeepNetwork(n_hidden=64, n_layers=1)", ("deep network", "64 hidden units, 1 layer")),
        ("KernelMachine(n_landmarks=500, width=0.5)", ("kernel machine", "500 landmarks, width=0.5")),
        ("Network(n_hidden=1000, recipe=Recipe)", ("network", "1,000 hidden units, recipe=Recipe")),
        ("Linear()", ("linear model", "")),
        ("Wrapped(estimator=RandomForestClassifier)", ("RandomForestClassifier", "")),
        ("Wrapped(estimator=Pipeline, features=<function f>)", ("Pipeline", "features=<function f>")),
        ("Module(module=Sequential, solver='adam')", ("Sequential", "solver='adam'")),
        ("Stump(depth=1)", ("Stump", "depth=1")),
        ("Forest(min_samples_leaf=None)", ("forest", "min_samples_leaf=None")),
        ("something else", ("something else", "")),
        ("Forest(" + 9 * "n_trees=5, " + "(", ("Forest(" + 9 * "n_trees=5, ")[:59] + "…"),
        ("Reshaped(learner=Boosting(loss='absolute'))", ("boosting", "absolute errors, on a log scale")),
        (
            "Reshaped(learner=Huber(), scale='yeo-johnson')",
            ("robust linear model", "on a yeo-johnson scale"),
        ),
    ],
)
def test_a_learner_in_plain_words(name, words):
    assert learner_words(name) == (words if isinstance(words, tuple) else (words, ""))


def test_who_took_part_and_what_the_final_model_is_made_of(tmp_path):
    text = page(with_board(make_run(tmp_path / "run"), BOARD)).text
    assert (
        "The final model is a mixture of 2 of these: boosting, at most 300 steps, trained on corrected labels; "
        "forest, leaves of 1 row, trained on corrected labels."
    ) in text
    lines = leaderboard(open_run(tmp_path / "run").facts).lines
    given = "labels as given, with trusted rows"
    assert [astuple(line) for line in lines] == [
        ("forest", "leaves of 1 row", "corrected labels", "0.200", 3, "38%", "0.2", False),
        ("boosting", "at most 300 steps", "corrected labels", "0.250", 7, "62%", "12.3", False),
        ("linear model", "", "trusted rows alone", "0.300", 7, "", "0.2", False),
        ("forest", "leaves of 5 rows", given, "0.400", 7, "", "0.2", True),
        ("forest", "leaves of 10 rows, best splits", given, "1,234,567", 7, "", "0.2", False),
        ("network", "", "labels as given", "1.500", 7, "", "0.2", False),
    ]
    assert "forest leaves of 1 rowcorrected labels0.200 338%0.2" in text
    assert "forest leaves of 5 rows ◇ the referencelabels as given" in text
    assert "LearnerTrained onLoss MistakesShareSeconds" in text
    assert "more, in run.json" not in text


def test_a_single_winner_and_a_fall_back(tmp_path):
    folder = with_board(make_run(tmp_path / "run"), [standing("Linear()", "corrected", 0.2, 1.0), *BOARD[2:]])
    assert "The final model is one of these: linear model, trained on corrected labels." in page(folder).text
    with_board(fallen_back(folder), BOARD, "fell back")
    found = page(folder)
    assert (
        "You have the reference: forest, leaves of 5 rows, trained on labels as given, with trusted rows. The shares "
        "are those of the mixture that was no better."
    ) in found.text
    board = [standing("Linear()", "raw", 0.1, 1.0), standing("Linear()", "corrected", 0.2)]
    lead = leaderboard(open_run(with_board(folder, board, "fell back", "raw")).facts).lead
    assert lead == "You have the reference: linear model, trained on labels as given."


def test_the_first_of_many(tmp_path):
    board = [standing(f"Forest(n_trees={i})", "corrected", i / 10, float(i == 1)) for i in range(1, MOST_SHOWN + 4)]
    text = page(with_board(make_run(tmp_path / "run"), board)).text
    assert f"{MOST_SHOWN} trees" in text
    assert f"{MOST_SHOWN + 1} trees" not in text
    assert "And 3 more, in run.json." in text


def test_numbers_have_no_mistakes(tmp_path):
    text = page(with_board(make_run(tmp_path / "run", task="numbers"), BOARD)).text
    assert "LearnerTrained onLoss ShareSeconds" in text


@pytest.mark.parametrize("fitted", [None, {}, {"leaderboard": []}, {"leaderboard": None}])
def test_nothing_is_shown_without_a_contest(tmp_path, fitted):
    folder = change(make_run(tmp_path / "run"), estimator={"fitted": fitted})
    assert leaderboard(open_run(folder).facts) is None
    assert TITLE not in page(folder).text


def test_a_board_that_no_fit_writes_is_damage(tmp_path):
    folder = with_board(make_run(tmp_path / "run"), [{"learner": 5}])
    with pytest.raises(RunError, match=r"run\.json: is damaged"):
        page(folder)
