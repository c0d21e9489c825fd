"""scikit-learn's API: thin estimators around one `search.run`."""

from safegain.estimators.classifier import PGSClassifier
from safegain.estimators.regressor import PGSRegressor

__all__ = ["PGSClassifier", "PGSRegressor"]
