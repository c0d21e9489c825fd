"""`safegain demo`: the files that a user might have, from data that ships inside scikit-learn, and a first run."""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from safegain.cli.fit import conclude
from safegain.cli.talk import Talk
from safegain.jobs.fitting import fit_table
from safegain.jobs.request import Request
from safegain.runs.folder import RunError
from safegain.tables import Source, write_table

WRONG = 0.4  # of the doubtful labels: each is then the next digit
PARTS = {"train": 1200, "trusted": 120, "fresh": 277, "pool": 200}


def run_demo(folder: Path, talk: Talk) -> None:
    if folder.exists():
        raise RunError(f"{folder}: is there already; name another folder, or remove it")
    write_files(folder)
    talk.say(
        f"{folder}/train.csv: {PARTS['train']} pictures of digits, {WRONG:.0%} with a wrong label\n"
        f"{folder}/trusted.csv: {PARTS['trusted']} with right ones\n"
        f"{folder}/fresh.csv: {PARTS['fresh']} more, to certify on later\n"
        f"{folder}/pool.csv: {PARTS['pool']} without labels, to prove it in the browser\n\n"
        f"safegain fit {folder}/train.csv --label digit --trusted {folder}/trusted.csv --out {folder}/run\n"
    )
    train, trusted, out = (str((folder / name).absolute()) for name in ("train.csv", "trusted.csv", "run"))
    command = ["fit", train, "--label", "digit", "--trusted", trusted, "--out", out]
    request = Request(Source(train, "digit", trusted), {}, 0, "auto", 1, command)
    conclude(fit_table(request, folder / "run", say=talk.say, verbose=talk.progress), talk)


def write_files(folder: Path) -> None:
    """pictures/*.png, and tables of their paths with a digit each; the pool has none."""
    (folder / "pictures").mkdir(parents=True)
    digits = load_digits()
    random = np.random.RandomState(0)
    order = random.permutation(len(digits.target))
    names = np.array([f"pictures/{i:04}.png" for i in range(len(order))], dtype=object)
    for name, pixels in zip(names, digits.images[order], strict=True):
        Image.fromarray((pixels * 15).astype(np.uint8)).save(folder / name)
    first = 0
    for part, n in PARTS.items():
        rows = slice(first, first + n)
        labels = digits.target[order][rows]
        if part == "train":
            labels = np.where(random.rand(n) < WRONG, (labels + 1) % 10, labels)
        table = {"picture": names[rows], "digit": labels}
        if part == "pool":
            del table["digit"]
        write_table(folder / f"{part}.csv", table)
        first += n
