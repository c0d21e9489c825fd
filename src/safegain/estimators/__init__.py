"""scikit-learn's API."""
