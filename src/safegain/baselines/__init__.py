"""The methods that PGS is compared with, and PGS among them: one API, one architecture, one recipe.

Every method is a scikit-learn estimator with fit(X, y, trusted=...), and adds only its own idea.
"""

from safegain.baselines.baseline import BaselineClassifier, BestBaselineClassifier, TrustedOnlyClassifier
from safegain.baselines.cleanlab import CleanlabClassifier
from safegain.baselines.consistency import MeanTeacher, PiModel
from safegain.baselines.gold import GoldLossCorrection
from safegain.baselines.influence import InfluenceFunction
from safegain.baselines.neighbour import NearestNeighbour
from safegain.baselines.noise_layer import SModel
from safegain.baselines.pgs_refit import PGSRefit
from safegain.baselines.pgs_refit_regression import PGSRefitRegressor, TunedBaselineRegressor
from safegain.baselines.pseudo_label import PseudoLabel
from safegain.baselines.reed import Reed
from safegain.baselines.regression import RANSAC, SVR, BaselineRegressor, Huber, SelfLS, TrustedOnlyRegressor
from safegain.baselines.safew import SafeWClassifier, SafeWRegressor
from safegain.baselines.weights import LearningToReweight, MetaWeightNet
from safegain.learners.recipe import Recipe

__all__ = [
    "RANSAC",
    "SVR",
    "BaselineClassifier",
    "BaselineRegressor",
    "BestBaselineClassifier",
    "CleanlabClassifier",
    "GoldLossCorrection",
    "Huber",
    "InfluenceFunction",
    "LearningToReweight",
    "MeanTeacher",
    "MetaWeightNet",
    "NearestNeighbour",
    "PGSRefit",
    "PGSRefitRegressor",
    "PiModel",
    "PseudoLabel",
    "Recipe",
    "Reed",
    "SModel",
    "SafeWClassifier",
    "SafeWRegressor",
    "SelfLS",
    "TrustedOnlyClassifier",
    "TrustedOnlyRegressor",
    "TunedBaselineRegressor",
]
