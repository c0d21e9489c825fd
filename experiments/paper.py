"""The paper's own figures, typed by hand from its tables: table -> column -> method -> mean.

The paper has one row for REED and does not say which of the two kinds; both are compared with it.
"""

Figures = dict[str, dict[str, float]]


def _noise(
    baseline: float, validation: float, reed: float, s_model: float, safew: float, pgs: float
) -> dict[str, float]:
    return {
        "baseline": baseline,
        "trusted_only": validation,
        "reed_soft": reed,
        "reed_hard": reed,
        "s_model": s_model,
        "safew": safew,
        "pgs": pgs,
    }


def _ssl(baseline: float, pi: float, teacher: float, pseudo: float, safew: float, pgs: float) -> dict[str, float]:
    return {
        "baseline": baseline,
        "pi_model": pi,
        "mean_teacher": teacher,
        "pseudo_label": pseudo,
        "safew": safew,
        "pgs": pgs,
    }


MNIST_NOISE: Figures = {
    "unbiased": _noise(77.4, 76.2, 78.6, 76.2, 77.9, 83.4),
    "biased": _noise(76.7, 69.1, 78.2, 75.7, 76.4, 80.3),
}
MNIST_SSL: Figures = {
    "unbiased": _ssl(80.3, 83.6, 84.9, 82.5, 82.2, 86.5),
    "biased": _ssl(79.8, 82.8, 84.1, 82.0, 81.6, 84.1),
}
CIFAR_NOISE: Figures = {
    "unbiased": _noise(58.3, 49.5, 64.5, 63.3, 62.0, 66.3),
    "biased": _noise(56.8, 42.3, 64.3, 62.9, 61.5, 64.5),
}
CIFAR_SSL: Figures = {
    "unbiased": _ssl(60.7, 64.4, 65.7, 62.1, 63.5, 68.8),
    "biased": _ssl(59.0, 63.6, 64.9, 61.8, 62.5, 65.7),
}


def _regression(second: str, rows: dict[str, tuple[float, float, float]]) -> Figures:
    return {
        name: {"baseline_regressor": baseline, second: other, "pgs_regressor": pgs}
        for name, (baseline, other, pgs) in rows.items()
    }


REGRESSION_NOISE: Figures = _regression(
    "svr",
    {
        "abalone": (0.017, 0.143, 0.010),
        "bodyfat": (0.150, 0.102, 0.087),
        "cpusmall": (0.005, 0.003, 0.002),
        "mg": (0.033, 0.030, 0.026),
        "mpg": (0.081, 0.074, 0.021),
        "space_ga": (0.100, 0.093, 0.021),
    },
)
REGRESSION_SSL: Figures = _regression(
    "self_ls",
    {
        "abalone": (0.015, 0.012, 0.011),
        "bodyfat": (0.089, 0.062, 0.053),
        "cpusmall": (0.006, 0.003, 0.002),
        "mg": (0.039, 0.031, 0.025),
        "mpg": (0.084, 0.040, 0.029),
        "space_ga": (0.060, 0.031, 0.019),
    },
)
CORRECTION: Figures = {
    rate: {"nearest_neighbour": nearest, "influence_function": influence, "pgs": pgs}
    for rate, (nearest, influence, pgs) in {
        "10%": (54.17, 65.71, 68.21),
        "20%": (56.56, 65.79, 68.06),
        "30%": (58.32, 65.21, 67.64),
        "40%": (60.16, 66.81, 68.33),
        "50%": (61.15, 65.05, 67.97),
        "60%": (60.15, 64.81, 66.91),
    }.items()
}
