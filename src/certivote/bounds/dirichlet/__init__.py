"""The certificate of a vote drawn near the weights."""

from .bound import DirichletBound

__all__ = ["DirichletBound"]
