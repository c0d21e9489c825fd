"""Draws docs/picture.svg, the picture of the README: `python docs/make_picture.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from safegain import PGSClassifier

random = np.random.RandomState(0)
X, y = load_digits(return_X_y=True)
order = random.permutation(len(y))
X, y = X[order].astype(np.float32), y[order]
trusted = np.arange(1397) < 400
flipped = ~trusted & (random.rand(1397) < 0.45)
given = np.where(flipped, (y[:1397] + 1) % 10, y[:1397])
model = PGSClassifier(random_state=0).fit(X[:1397], given, trusted=trusted)

plt.rcParams.update({"font.size": 9, "svg.hashsalt": "safegain", "axes.spines.top": False, "axes.spines.right": False})
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
bins = np.linspace(0, 1, 21)
weights = model.sample_weight_
left.hist(weights[~trusted & ~flipped], bins, color="#0072b2", alpha=0.8, label="label is right")
left.hist(weights[flipped], bins, color="#d55e00", alpha=0.6, hatch="//", label="label was flipped")
left.set(xlabel="weight that the row got", ylabel="rows", title="How far to trust each row")
left.legend(frameon=False)

steps = [record["step"] for record in model.history_]
middle.plot(steps, [record["rank_loss"] for record in model.history_], color="#0072b2")
middle.axhline(model.history_[0]["rank_loss"], color="0.5", linestyle="--")
middle.text(steps[-1], model.history_[0]["rank_loss"], "raw labels", ha="right", va="bottom", color="0.3")
middle.set(
    xlabel="outer step",
    ylabel="log-loss",
    title="Loss on trusted rows kept aside",
    ylim=(0, 1.15 * model.history_[0]["rank_loss"]),
)

issues = model.label_issues().head(8)
right.axis("off")
right.set_title("Most suspicious labels")
for i, row in enumerate(issues.itertuples()):
    box = right.inset_axes([0.25 * (i % 4), 0.52 - 0.52 * (i // 4), 0.22, 0.36])
    box.imshow(X[row.row].reshape(8, 8), cmap="gray_r")
    box.set(xticks=[], yticks=[])
    box.set_title(f"{row.given} → {row.suggested}", fontsize=8, pad=2)
figure.savefig(Path(__file__).with_name("picture.svg"), metadata={"Date": None})
