from safegain.models.base import Model
from safegain.models.linear import Linear
from safegain.models.mlp import TwoLayer
from safegain.models.module import Module

__all__ = ["Linear", "Model", "Module", "TwoLayer"]
