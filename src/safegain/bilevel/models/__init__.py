from safegain.bilevel.models.base import Model
from safegain.bilevel.models.linear import Linear
from safegain.bilevel.models.module import Module
from safegain.bilevel.models.network import TwoLayer

__all__ = ["Linear", "Model", "Module", "TwoLayer"]
