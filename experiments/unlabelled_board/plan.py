"""Which runs the board of few labels consists of."""

from experiments.board.entries import SEEDS
from experiments.board.plan import Part
from experiments.unlabelled_board.cells import DEVELOPMENT_CELLS, FINAL_CELLS
from experiments.unlabelled_board.entries import OURS, OURS_ALONE, PEERS, SLOW

REHEARSED = ("digits",)
PLAYED = SEEDS[:5]
QUICK = tuple(peer for peer in PEERS if peer not in SLOW)
FINAL = Part("Final sets", FINAL_CELLS, (((OURS, OURS_ALONE, *QUICK), PLAYED), (SLOW, PLAYED[:1])), REHEARSED)
DEVELOPMENT = Part("Development sets", DEVELOPMENT_CELLS, (((OURS, OURS_ALONE, *PEERS), PLAYED[:1]),), REHEARSED)
PARTS = (FINAL, DEVELOPMENT)
