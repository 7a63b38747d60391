"""What bounds say of their numbers: labels, meanings and formats, for whoever shows them."""

from typing import Any, NamedTuple

__all__ = ["ANYTIME", "CONSTANT", "DELTA", "MOMENTS", "SYMBOLS", "Figure", "Setting"]


class Setting(NamedTuple):
    """A parameter of a bound: what it is called, and what it is in a few words."""

    label: str
    meaning: str = "a parameter of the bound"


class Figure(NamedTuple):
    """A number of the evidence.

    `brief` is its name where there is little room, and empty where it is not shown there; numbers
    have so many `digits`, or are shown as they are. A size is a number of examples. Where a claim
    may be more modest than what is found, it may say more: so many, or fewer.
    """

    label: str
    meaning: str = "evidence that the bound is made of"
    brief: str = ""
    digits: int | None = None
    is_size: bool = False
    or_fewer: bool = False

    @classmethod
    def named(cls, name: str) -> "Figure":
        """Return what can be said of a number of which nothing but its name is known."""
        words = name.replace("_", " ")
        return cls(words[:1].upper() + words[1:])

    def show(self, value: Any, digits: int | None = None) -> str:
        """Return a value as text, rounded to the nearest."""
        digits = self.digits if digits is None or self.digits is None else digits
        return str(value) if digits is None else f"{value:.{digits}f}"


DELTA = Setting("δ", "the probability that the claim fails, over the draw of the sample")
CONSTANT = Setting(
    "Constant c₂(m)",
    "“maurer” is 2√m, “exact” the smaller ξ(m), “one-sided” c₊(m, ·), for upper limits alone; "
    "“anytime” holds for all m at once",
)

ANYTIME = Setting("Anytime", "whether it holds at all sizes of a growing sample at once")

MOMENTS: dict[str, Figure] = {
    "gibbs_risk": Figure(
        "Gibbs risk r", "how often a voter drawn by the weights errs", "Gibbs risk", 4
    ),
    "joint_error": Figure(
        "Joint error e", "how often two voters drawn by the weights both err", "joint error", 4
    ),
    "disagreement": Figure(
        "Disagreement d", "how often exactly one of the two errs", "disagreement", 4
    ),
    "gibbs_size": Figure(
        "Examples behind r", "fewer than all where not every voter could be asked", is_size=True
    ),
    "joint_size": Figure(
        "Examples behind e", "fewer than all where not every pair could be asked", is_size=True
    ),
    "disagreement_size": Figure(
        "Examples behind d", "with unlabelled examples more, otherwise as for e", is_size=True
    ),
    "one_sample": Figure(
        "One sample", "whether every voter and every pair was asked on the same examples"
    ),
}

# What may stand in a formula, what it looks like there, and what it means.
SYMBOLS = (
    ("_S", "subscript S", "as measured on the certification examples"),
    ("C(", "C", "the C-bound, 1 − (1 − 2r)²/(1 − 2d), where r = e + d/2"),
    ("sup", "sup", "the worst case: the largest value over the set in braces"),
    ("kl₃", "kl₃", "divergence over three outcomes: both of two voters err, one errs, none errs"),
    ("kl⁺", "kl⁺(a|ψ)", "the largest b whose divergence kl(a‖b) is at most ψ"),
    ("kl⁻", "kl⁻(a|ψ)", "the smallest b whose divergence kl(a‖b) is at most ψ"),
    ("Beta⁻¹", "Beta⁻¹", "the quantile of a beta distribution: the binomial test of k errors in m"),
    ("/M", "M", "the number of votes, fixed in advance, of which this is the best"),
    ("A_i", "A_i(δ·s_i)", "the i-th certificate at its share of δ; the winner is named below"),
    ("Dir(", "Dir(Kq)", "the Dirichlet distribution of votes around q, the nearer the larger K"),
    ("ℓ_", "ℓ", "how often a vote drawn near this one has an erring weight of at least ½ − γ"),
    ("ε", "ε", "the probability that one drawn near a vote that errs has a smaller one"),
    ("cells", "cells", "pairs of K₀ and γ that are fixed in advance, each with its part δ_c of δ"),
    ("ψ", "ψ", "what chance may do: it grows with KL and with 1/δ, and shrinks with m"),
)
