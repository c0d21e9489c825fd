"""When the final sets may be run: from one tagged commit, unchanged, with the strongest peers named before."""

import subprocess
from pathlib import Path

from experiments.board.strongest import FILE
from experiments.store import Store

TAGS = "board-*"
# By the run itself, which may be interrupted.
WRITTEN = ("experiments/results/", "docs/board.md", "docs/numbers.md", "docs/unlabelled.md", "docs/figures/")
ROOT = Path(__file__).parents[2]


def refuse_without_strongest(file: Path = FILE, command: str = "experiments.board.strongest") -> None:
    if not file.is_file():
        raise ValueError(f"{file.name}: the strongest peers are not named; run python -m {command}")


def refuse_final_run(store: Store, data: str, *, quick: bool, root: Path = ROOT) -> None:
    """Raise ValueError, with what is to be done, unless everything is as it must be."""
    if quick:
        raise ValueError("--final: a rehearsal never touches the final sets; leave out --quick or --final")
    changed = [line[3:] for line in _git(root, "status", "--porcelain", "--untracked-files=all").splitlines()]
    if changed := [path for path in changed if not path.startswith(WRITTEN)]:
        raise ValueError(f"--final: the work tree is not clean ({changed[0]}); commit or remove what has changed")
    if not _git(root, "tag", "--points-at", "HEAD", "--list", TAGS).strip():
        raise ValueError(
            f"--final: this commit has no tag {TAGS}; tag the commit that is to be judged, and check it out"
        )
    head = _git(root, "rev-parse", "HEAD").strip()
    commits = {record["versions"].get("commit", "unknown") for record in store.records(data)}
    if others := commits - {head}:
        raise ValueError(
            f"{store.folder / data}.jsonl: has results of commit {min(others)}, and {head} is checked out; "
            "go back to that commit, or remove its results"
        )


def _git(root: Path, *words: str) -> str:
    try:
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ValueError(f"--final: git cannot say which commit this is ({error}); run from a clone") from error
