"""What the board is played on."""

from experiments.board.cells import DEVELOPMENT_CELLS, FINAL_CELLS, SHAPES, VERY_FEW_CELLS

from safegain.datasets import DEVELOPMENT, FINAL
from safegain.datasets.tables import CLASSES


def test_the_cells_are_those_that_were_asked_for():
    per_set = {name: sum(cell.set == name for cell in FINAL_CELLS) for name in FINAL}
    assert per_set == {
        "texture": 8, "segment": 4, "splice": 4, "chess": 2, "optdigits": 8, "marketing": 8, "ring": 4, "german": 2,
        "contraceptive": 4, "insured": 4, "benefits": 4, "ws_sms": 2,
    }  # fmt: skip
    per_set = {name: sum(cell.set == name for cell in DEVELOPMENT_CELLS) for name in DEVELOPMENT}
    assert per_set == {
        "mnist": 2, "cifar10n": 2, "letter": 6, "pendigits": 6, "spambase": 4, "phoneme": 4, "banana": 4, "digits": 3,
        "ws_youtube": 1, "ws_trec": 2,
    }  # fmt: skip
    assert {cell.data for cell in FINAL_CELLS} == {"final"}
    assert {cell.data for cell in (*DEVELOPMENT_CELLS, *VERY_FEW_CELLS)} == {"development"}
    assert {cell.n_trusted for cell in VERY_FEW_CELLS} == {40}
    names = [cell.name for cell in (*FINAL_CELLS, *DEVELOPMENT_CELLS, *VERY_FEW_CELLS)]
    assert len(names) == len(set(names))


def test_cells_are_named_by_set_noise_and_trusted_rows():
    assert FINAL_CELLS[0].name == "texture, uniform 50%, 100 trusted"
    assert FINAL_CELLS[-1].name == "ws_sms, rules, 1,000 trusted"
    assert FINAL_CELLS[-1].setting == {"set": "ws_sms", "noise": "rules", "n_trusted": 1000}


def test_shapes_are_those_of_the_tables():
    assert {name: SHAPES[name][0] for name in CLASSES} == {name: table.rows for name, table in CLASSES.items()}
    assert set(SHAPES) == {*DEVELOPMENT, *FINAL}
