"""Simulations of false certificates, rehearsed with few draws."""

import numpy as np
from benchmarks import proofs


def test_a_rehearsal_finds_every_row_within_its_bar():
    rows = list(proofs.run(draws=60, looked_at=400, labels=200))
    assert len(rows) == len(proofs.SIMULATED) + 6 + 4
    false = [row for row in rows if "false certificates" in row.name]
    assert all(row.met for row in false), [row for row in false if not row.met]
    assert all(20 < row.found < 300 for row in rows if row not in false)
    assert any(row.found > 0.005 for row in rows if "one by one" in row.name)  # the level is used


def test_equals_are_right_equally_often():
    X, y = proofs.equals(20_000, np.random.default_rng(0))
    new, old = proofs.NEW.predict(X) == y, proofs.OLD.predict(X) == y
    assert abs(new.mean() - old.mean()) < 0.02
    assert abs((new != old).mean() - 0.5) < 0.02
