"""The only judge of what simulations count."""

from scipy.stats import binomtest


def holds(violations, draws, delta):
    """Whether that many violations are compatible with a probability of at most delta."""
    return binomtest(int(violations), int(draws), delta, alternative="greater").pvalue >= 1e-4
