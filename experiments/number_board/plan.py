"""Which runs the board for numbers consists of."""

from experiments.board.entries import JUDGED, PAIRED, SEEDS
from experiments.board.plan import DEVELOPMENT_SEEDS, Part
from experiments.number_board.cells import DEVELOPMENT_CELLS, FINAL_CELLS, NAMED_CELLS, VERY_FEW_CELLS
from experiments.number_board.entries import ALONE, BOOSTING, CLEANLAB, CROSS_VALIDATED, OTHERS, OURS, USUAL

REHEARSED = ("concrete",)
FINAL = Part(
    "Final sets",
    FINAL_CELLS,
    ((USUAL, SEEDS), ((OURS,), JUDGED), (CROSS_VALIDATED, PAIRED), ((*CLEANLAB, *OTHERS), JUDGED[:1])),
    REHEARSED,
)
DEVELOPMENT = Part(
    "Development sets",
    DEVELOPMENT_CELLS,
    (((*USUAL, OURS, *CROSS_VALIDATED, CLEANLAB[0], *OTHERS), SEEDS[:1]),),
    REHEARSED,
)
VERY_FEW = Part(
    "Development sets, 20 trusted rows",
    VERY_FEW_CELLS,
    (((*USUAL, OURS, *ALONE), DEVELOPMENT_SEEDS),),
    REHEARSED,
)
NAMED = Part(
    "Three development cells with bars of their own",
    NAMED_CELLS,
    (((OURS, BOOSTING), DEVELOPMENT_SEEDS),),
    REHEARSED,
)
PARTS = (FINAL, DEVELOPMENT, VERY_FEW, NAMED)
