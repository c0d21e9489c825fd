"""The six strongest peers, named from the development sets before a final set is run.

python -m experiments.board.strongest writes strongest.json beside this file. It refuses once there are final results.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.board.entries import PEERS
from experiments.board.judging import mean_ranks
from experiments.board.plan import DEVELOPMENT, Part
from experiments.board.scores import Scores
from experiments.entry import Entry
from experiments.files import write_whole
from experiments.runner import commit
from experiments.store import Store

N_STRONGEST = 6
FILE = Path(__file__).parent / "strongest.json"
RESULTS = Path("experiments/results")


def read_strongest(path: Path = FILE, peers: Sequence[Entry] = PEERS) -> list[Entry] | None:
    """None until they have been named."""
    if not path.is_file():
        return None
    names = json.loads(path.read_text(encoding="utf-8"))["peers"]
    known = {entry.name: entry for entry in peers}
    if strange := [name for name in names if name not in known]:
        raise ValueError(f"{path}: {strange[0]!r} is not on the board; name the strongest peers again")
    return [known[name] for name in names]


def name_strongest(
    results: Path,
    path: Path = FILE,
    peers: Sequence[Entry] = PEERS,
    part: Part = DEVELOPMENT,
    *,
    final: str = "final",
) -> list[Entry]:
    """Write those with the best mean rank over the development sets, on cells and seeds that all peers have run."""
    if (results / f"{final}.jsonl").exists():
        raise ValueError(
            f"{results / final}.jsonl: final sets have been run; the strongest peers are named before that"
        )
    scores = Scores(part, Store(results).read)
    accuracy = scores.table(peers)
    shared = np.isfinite(accuracy).all(axis=0)
    kept = shared.any(axis=1)
    if not kept.any():
        raise ValueError(f"{results}: there is no cell that all peers have run; run `make board` first")
    sets = [name for name, keep in zip(scores.sets, kept, strict=True) if keep]
    ranks = mean_ranks(np.where(shared, accuracy, np.nan)[:, kept], sets)
    order = np.argsort(ranks, kind="stable")
    named = [peers[i] for i in order[:N_STRONGEST]]
    content = {
        "peers": [entry.name for entry in named],
        "mean ranks of all": {peers[i].name: round(float(ranks[i]), 3) for i in order},
        "development sets": list(dict.fromkeys(sets)),
        "runs of each": int(shared.sum()),
        "commit": commit(),
    }
    write_whole(path, json.dumps(content, indent=2) + "\n")
    return named


def main(file: Path = FILE, peers: Sequence[Entry] = PEERS, part: Part = DEVELOPMENT, *, final: str = "final") -> int:
    try:
        named = name_strongest(RESULTS, file, peers, part, final=final)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {file}:", "; ".join(entry.name for entry in named))
    return 0


if __name__ == "__main__":
    sys.exit(main())
