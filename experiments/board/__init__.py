"""The board: PGS with its defaults against its peers, over data sets and kinds of noise; docs/board.md.

python -m experiments.board [--only spambase] [--quick] [--jobs 2] [--seeds 100 101 --results build/tuning]
"""
