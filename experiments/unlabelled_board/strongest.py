"""The six strongest peers on few labels, named from the development sets before a final set is run.

python -m experiments.unlabelled_board.strongest writes strongest.json beside this file.
"""

import sys
from pathlib import Path

from experiments.board.strongest import main
from experiments.unlabelled_board.entries import PEERS
from experiments.unlabelled_board.plan import DEVELOPMENT

FILE = Path(__file__).parent / "strongest.json"

if __name__ == "__main__":
    sys.exit(main(FILE, PEERS, DEVELOPMENT, final="unlabelled_final"))
