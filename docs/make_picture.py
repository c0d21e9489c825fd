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
rows = np.arange(1397)
left_of_label = model.label_distribution_[rows, given]
left.hist(left_of_label[~trusted & ~flipped], bins, color="#0072b2", alpha=0.8, label="label is right")
left.hist(left_of_label[flipped], bins, color="#d55e00", alpha=0.6, hatch="//", label="label was flipped")
left.set(xlabel="probability that the label is right", ylabel="rows", title="How far to trust each label")
left.legend(frameon=False, loc="upper center")

shown = [record for record in model.history_ if "rank_loss" in record]
names = [record["candidate"].replace("new", "Safegain") for record in shown]
colours = ["#d55e00" if name == "Safegain" else "#0072b2" for name in names]
middle.barh(names, [record["rank_loss"] for record in shown], color=colours)
middle.invert_yaxis()
middle.set(xlabel="log-loss", title="Loss on trusted rows kept aside")

issues = model.label_issues().head(8)
right.axis("off")
right.set_title("Most suspicious labels")
for i, row in enumerate(issues.itertuples()):
    box = right.inset_axes([0.25 * (i % 4), 0.52 - 0.52 * (i // 4), 0.22, 0.36])
    box.imshow(X[row.row].reshape(8, 8), cmap="gray_r")
    box.set(xticks=[], yticks=[])
    box.set_title(f"{row.given} → {row.suggested}", fontsize=8, pad=2)
figure.savefig(Path(__file__).with_name("picture.svg"), metadata={"Date": None})
