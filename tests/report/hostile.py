"""A run that is hostile wherever a file has words."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from tests.report.html import change
from tests.run_folders import make_run

SET = "window.hit=1"


HOSTILE = [
    f"<script>{SET}</script>",
    f"</script><script>{SET}</script>",
    f"</style><script>{SET}</script>",
    f"</title><script>{SET}</script>",
    f"</svg><script>{SET}</script>",
    f"<img src=x onerror={SET}>",
    f'"><img src=x onerror="{SET}">',
    f"'><img src=x onerror='{SET}'>",
    f"<svg onload={SET}>",
    f"<svg><script>{SET}</script></svg>",
    f"<svg><animate onbegin={SET} attributeName=x dur=1s>",
    f'<svg><a xlink:href="javascript:{SET}"><text>x</text></a></svg>',
    f"<body onload={SET}>",
    f"<details open ontoggle={SET}>",
    f"<input autofocus onfocus={SET}>",
    f'" autofocus onfocus="{SET}',
    f"' onmouseover='{SET}",
    f"javascript:{SET}",
    f"JaVaScRiPt:{SET}//",
    f"data:text/html,<script>{SET}</script>",
    f'<a href="javascript:{SET}">x</a>',
    f'<iframe srcdoc="<script>parent.hit=1</script>"></iframe>{SET}',
    '<iframe src="http://evil.example/"></iframe>',
    '<link rel="stylesheet" href="http://evil.example/a.css">',
    '<meta http-equiv="refresh" content="0;url=http://evil.example/">',
    '<base href="http://evil.example/">',
    '<form action="http://evil.example/"><button>x</button></form>',
    '<object data="http://evil.example/"></object>',
    '<img src="http://evil.example/a.png">',
    '<use href="http://evil.example/a.svg#x"/>',
    "<style>body{background:url(http://evil.example/a)}</style>",
    "red;background:url(http://evil.example/a)",
    "}*{background:url(http://evil.example/a)}",
    "@import 'http://evil.example/a.css';",
    "<!-- --><b>bold</b><!--",
    "]]><b>bold</b>",
    "{{ 7 * 7 }}{{ ''.__class__.__mro__ }}",
    "{% for x in range(9) %}x{% endfor %}${7*7}<%= 7*7 %>",
    "$\\frac{",
    "$\\input{/etc/passwd}$",
    "_^{\\ %s %(x)s {0} {facts}",
    "&lt;b&gt; &amp; &#60; &nbsp;",
    "`'\"\\\\\"'`",
    "null\x00byte\x07bell\x1b[31mred",
    "\u202eabc\u202c \u2066def \u200f\u200e\ufeff",
    "عربى שלום 漢字 👩‍👩‍👧 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
    '=HYPERLINK("http://evil.example/","x")',
    "+1+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "../../../etc/passwd",
    "C:\\..\\..\\boot.ini\n-rf /; $(touch x) | `id`",
    "long" * 2500,
    "q000qnnn",
    " ",
]


def hostile_run(folder: Path) -> Path:
    """Hostile words wherever a file's words go: classes, columns, files, groups, sets, texts, ids, notes, settings."""
    make_run(folder, n=400, words=HOSTILE)
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet")
    weak = (~labels["trusted"]).cumsum().to_numpy() - 1
    labels["suspicion"] = np.where(labels["trusted"], 0.0, np.where(weak < len(HOSTILE) + 5, 1 - weak / 1000, 0.0))
    labels["given"] = [HOSTILE[i % len(HOSTILE)] for i in range(len(labels))]
    labels["suggested"] = [HOSTILE[(i + 1) % len(HOSTILE)] for i in range(len(labels))]
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    facts = json.loads((folder / "run.json").read_text())
    pairs = [{"name": word, "n": 9, "reference": 0.3, "new": 0.1 + i / 500} for i, word in enumerate(HOSTILE)]
    sets = [{"name": word, "raw_loss": 1.0, "new_loss": i / 90, "margin": 0.1} for i, word in enumerate(HOSTILE)]
    facts["certificate"]["entries"][0] |= {"name": HOSTILE[0], "measure": HOSTILE[6], "test": HOSTILE[37]}
    return change(
        folder,
        by_class=pairs,
        by_group=pairs[::-1],
        margins=sets,
        notes=[*HOSTILE, "\ud800 alone"],
        label=HOSTILE[6],
        files={"train": HOSTILE[15], "trusted": HOSTILE[49] + "\udfff"},
        columns=dict.fromkeys(HOSTILE, "text"),
        certificate=facts["certificate"],
        created=HOSTILE[0],
        safegain=HOSTILE[5],
        versions={HOSTILE[1]: HOSTILE[2]},
        estimator={
            "name": HOSTILE[3],
            "parameters": {word: word for word in HOSTILE},
            "fitted": {"leaderboard": _standings()},
        },
        history=[{"candidate": word, "rank_loss": 0.5, "mistakes": 0.1} for word in HOSTILE],
        models=facts["models"] + [{"name": word, "n": 9, "loss": 1, "mistakes": 0.1, "role": None} for word in HOSTILE],
    )


def _standings() -> list[dict]:
    told = [(f"Wrapped(estimator={word}, features={word})", word) for word in HOSTILE]
    return [
        {"learner": learner, "trained_on": word, "loss": 1e308, "mistakes": 3, "share": 0.3, "seconds": 1e308}
        for learner, word in told
    ]
