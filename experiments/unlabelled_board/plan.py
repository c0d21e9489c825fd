"""Which runs the board of few labels consists of."""

from experiments.board.entries import SEEDS
from experiments.board.plan import DEVELOPMENT_SEEDS, Part
from experiments.unlabelled_board.cells import DEVELOPMENT_CELLS, FINAL_CELLS
from experiments.unlabelled_board.entries import OURS, OURS_ALONE, PEERS

REHEARSED = ("digits",)
FINAL = Part("Final sets", FINAL_CELLS, (((OURS, OURS_ALONE), SEEDS), (PEERS, SEEDS)), REHEARSED)
DEVELOPMENT = Part(
    "Development sets",
    DEVELOPMENT_CELLS,
    (((OURS, OURS_ALONE), DEVELOPMENT_SEEDS), (PEERS, DEVELOPMENT_SEEDS)),
    REHEARSED,
)
PARTS = (FINAL, DEVELOPMENT)
