"""The loss of pseudo-labels at three moments of a training."""

import pytest
from torch.nn.functional import cross_entropy

from safegain.baselines.pseudo_label import PseudoLabelLoss, rise
from safegain.learners.recipe import draw
from tests.baselines.samples import generator, material, network


def test_pseudo_labels_come_in_along_a_line():
    assert [rise(t) for t in (0, 0.1, 0.35, 0.6, 1)] == pytest.approx([0, 0, 0.5, 1, 1])
    of = material(unlabelled=20)
    rows = of.labelled[:8]
    objective = PseudoLabelLoss(network(of, dropout=0.0), of, generator(3), weight=2.0)
    early = objective.loss(rows, 0.05)
    assert early.item() == pytest.approx(cross_entropy(objective.network(of.X[rows]), of.y[rows]).item())
    late = PseudoLabelLoss(network(of, dropout=0.0), of, generator(3), weight=2.0).loss(rows, 0.35)
    others = draw(of.unlabelled, 8, generator(3))
    z = objective.network(of.X[others])
    assert late.item() == pytest.approx((early + 2 * 0.5 * cross_entropy(z, z.argmax(dim=1))).item())
