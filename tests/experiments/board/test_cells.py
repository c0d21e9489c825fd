"""What the board is played on."""

from experiments.board.cells import CELLS, REGRESSION_CELLS


def test_the_cells_are_those_that_were_asked_for():
    assert len(CELLS) == 19
    assert len({cell.name for cell in CELLS}) == 19
    per_set = {name: sum(cell.set == name for cell in CELLS) for name in dict.fromkeys(c.set for c in CELLS)}
    assert per_set == {
        "MNIST": 4, "CIFAR-10": 2, "CIFAR-10N": 3, "letter": 3, "pendigits": 2, "spambase": 3, "digits": 1, "YouTube": 1
    }  # fmt: skip
    assert len(REGRESSION_CELLS) == 27
