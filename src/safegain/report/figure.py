"""One figure as inline SVG: colours follow the page, text stays text, and matplotlib never sees a user's words.

Colours are stand-ins that become the page's CSS variables, so that one figure serves light, dark and paper. A user's
words go in as stand-ins too, and are put back, escaped, once the SVG is written: a "$" starts no formula, no letter
lacks a glyph, and nothing but plain ASCII is ever measured.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import matplotlib.style
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from safegain.report.words import cleaned, cut

INK, QUIET, LINE, PAPER, OLD, NEW = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
_VARIABLES = {INK: "ink", QUIET: "quiet", LINE: "line", PAPER: "paper", OLD: "old", NEW: "new"}
WIDTH = 380  # units of the drawing; the page shows them between 360 (a phone) and 530 pixels wide
LETTER = 5.9  # mean width of one at the size below

_STYLE = {
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.labelsize": 10,
    "text.color": INK,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": LINE,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid.axis": "x",
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


@dataclass
class Drawing:
    name: str  # of the figure, unique on the page
    figure: Figure
    height: float
    words: list[str] = field(default_factory=list)

    def axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        """Axes at a place given in units of the drawing, from its lower left corner."""
        place = (left / WIDTH, bottom / self.height, width / WIDTH, height / self.height)
        axes = self.figure.add_axes(place)
        axes.tick_params(length=0)
        return axes

    def word(self, text: object, width: int = 24) -> str:
        """A stand-in for a user's text, about as wide."""
        self.words.append(cut(text, width))
        return f"q{len(self.words) - 1:03d}q".ljust(len(self.words[-1]), "n")

    def svg(self, title: str, description: str) -> Markup:
        """The figure, with the text that stands for it where it cannot be seen."""
        file = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        self.figure.savefig(file, format="svg", metadata=nothing, transparent=True)
        written = file.getvalue()
        body = written[written.index(">", written.index("<svg")) + 1 : written.rindex("</svg>")]
        body = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
        body = re.sub(r"<[^>]*>", self._tag, body)  # matplotlib escapes "<" and ">" in text and in attributes
        body = re.sub(r"q(\d{3})qn*", lambda found: str(escape(self.words[int(found[1])])), body)
        body = re.sub(r"\s*\n\s*", "\n", body)
        return Markup(
            '<svg role="img" aria-labelledby="{0}-title {0}-text" viewBox="0 0 {1} {2:g}" '
            'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
            '<title id="{0}-title">{3}</title><desc id="{0}-text">{4}</desc>{5}</svg>'
        ).format(self.name, WIDTH, self.height, cleaned(title), cleaned(description), Markup(body))

    def _tag(self, found: re.Match[str]) -> str:
        tag = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", found[0])
        tag = re.sub(r"font: (bold )?([\d.]+)px [^;\"]*", r"font: \1\2px var(--font)", tag)
        return re.sub(r"#0\d0\d0\d", lambda colour: f"var(--{_VARIABLES[colour[0]]})", tag)


@contextmanager
def drawing(name: str, height: float) -> Iterator[Drawing]:
    """A figure to draw on, whatever style the user's own matplotlib has."""
    with matplotlib.style.context(["default", _STYLE | {"svg.hashsalt": name}]):
        yield Drawing(name, Figure(figsize=(WIDTH / 72, height / 72)), height)
