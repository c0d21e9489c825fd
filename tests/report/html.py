"""Reports as elements and text, and runs with other facts."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd

from safegain.report import write_report

VOID = {"meta", "img", "br", "hr", "input", "link"}


class Page(HTMLParser):
    """Elements and text of a page; raises where tags do not balance."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def having(self, *tags: str) -> list[dict]:
        return [attributes for tag, attributes in self.elements if tag in tags]


def change(folder: Path, **facts) -> Path:
    """Other facts in run.json; some of those of an object leave its others."""
    found = json.loads((folder / "run.json").read_text())
    for name, value in facts.items():
        found[name] = found[name] | value if isinstance(found.get(name), dict) and value else value
    (folder / "run.json").write_text(json.dumps(found))
    return folder


def page(folder: Path) -> Page:
    return Page(write_report(folder).read_text(encoding="utf-8"))


def failed(folder: Path) -> dict:
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    entry = {**certificate["entries"][0], "won": 22, "lost": 16, "gain": 0.03, "p_value": 0.21, "certified": False}
    return {**certificate, "certified": False, "p_value": 0.21, "entries": [{**entry, "lower_bound": -0.02}]}


def fallen_back(folder: Path, reference: str = "raw", **facts) -> Path:
    """As a fit leaves it: weights are 1, nothing is suspicious, and each set has the reference against itself."""
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet")
    labels = labels.assign(suspicion=0.0, confidence=0.0, weight=1.0, suggested=None, corrected=labels["given"])
    labels.assign(disagrees=False).to_parquet(folder / "labels-1-of-1.parquet", index=False)
    margins = [{"name": "held-out rows", "raw_loss": 0.8, "new_loss": 0.8, "margin": 0.0}]
    verdict = {"outcome": "fell back", "reference": reference, "sentence": "Fell back: the refit was not better."}
    return change(folder, certificate=None, margins=margins, verdict=verdict, n_suspicious=0, **facts)
