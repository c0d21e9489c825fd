"""The methods that PGS is compared with, and PGS among them: one API, one architecture, one recipe.

Every method is a scikit-learn estimator with fit(X, y, trusted=...), and adds only its own idea.
"""

from safegain.methods.bootstrapping import Reed
from safegain.methods.cleanlab import CleanlabClassifier
from safegain.methods.consistency import MeanTeacher, PiModel
from safegain.methods.gold import GoldLossCorrection
from safegain.methods.influence import InfluenceFunction
from safegain.methods.linear import RANSAC, SVR, BaselineRegressor, Huber, SelfLS, TrustedOnlyRegressor
from safegain.methods.nearest import NearestNeighbour
from safegain.methods.noise_layer import SModel
from safegain.methods.pgs_refit import PGSRefit
from safegain.methods.pgs_refit_linear import PGSRefitRegressor, TunedBaselineRegressor
from safegain.methods.pseudo_label import PseudoLabel
from safegain.methods.reweighting import LearningToReweight, MetaWeightNet
from safegain.methods.safew import SafeWClassifier, SafeWRegressor
from safegain.methods.supervised import BaselineClassifier, BestBaselineClassifier, TrustedOnlyClassifier
from safegain.recipe import Recipe

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
