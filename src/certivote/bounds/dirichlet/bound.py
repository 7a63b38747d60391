"""The certificate of a vote drawn near the weights, with a margin: it needs every example."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, zeta

from ..._utils.validation import check_count, check_distribution, check_number, check_prior
from ...divergences import binary_kl, dirichlet_kl
from ...statistics import Statistics
from ...statistics.packed import erring_weight, tables_of, transposed_product
from ..base import Bound, ConstantBound
from ..evaluation import round_up
from ..evidence import CONSTANT, DELTA, Figure, Setting
from .beta import tails_of, upper_tail

__all__ = ["DirichletBound"]

_Array = NDArray[np.float64]

# `predict` counts shares within 1e-12 of the largest as tied with it: an example that it gets wrong
# may have an erring weight below one half by that much, and by the rounding of the shares.
_TIE = 1e-12
_EPS = 2.0**-52
# Between these concentrations a computed tail has a relative error far below the other number.
_SMALLEST, _LARGEST = 1e-3, 1e10
_TAIL_ERROR = 1e-10
# Steps in ln K from which the best concentration is looked for, and how far from the prior's.
_STEPS = (0.0, 0.7, 1.5, 3.0, 5.0)
_FARTHEST = 7.0
# A cell this much above the best one at these steps is not looked at more closely.
_HOPELESS = 1.2
# From here on the value hardly moves: what is descended instead falls like the radius.
_FLAT = 0.99
# Logits are not followed beyond this: a weight is 0, or 1, long before.
_FAR = 30.0


class _Cell(NamedTuple):
    """What is fixed in advance: the prior's concentration, the threshold ½−γ, a part of δ."""

    concentration: float
    threshold: float
    share: float


class _Point(NamedTuple):
    """An objective with its derivatives in the posterior's Dirichlet parameters."""

    value: float
    gradient: _Array


class DirichletBound(ConstantBound):
    """``min kl⁺(ℓ_S | [KL(Dir(Kq)‖Dir(K₀p)) + ln(c₂(m)/δ_c)]/m)/(1−ε)`` over K and cells.

    A vote drawn from Dir(K·q) has, on an example where the voters that err weigh W, an erring
    weight that is Beta(K·W, K(1−W)). ``ℓ = P(Beta(K·W, K(1−W)) ≥ ½−γ)`` is the probability that it
    errs with margin γ, and ℓ_S its mean over the sample, which PAC-Bayes bounds from the prior
    Dir(K₀·p). Where the vote itself errs, W ≥ ½ and so ``ℓ ≥ 1−ε`` with ``ε = I_{½−γ}(K/2, K/2)``:
    the beta distributions increase with W. It holds for all weights, all K and any number of
    classes at once; each cell (K₀, γ) has its share of δ. It has to be minimised itself to be small
    at other weights than the prior, and then stays near it.

    Parameters
    ----------
    delta : float, default=0.05
        The probability that the certificate may fail, in (0, 1).
    constant : {"one-sided", "exact", "maurer", "anytime"}, default=None
        The constant c₂: the published 2√m ("maurer"), the smaller ξ(m) ("exact"), or, for what is
        bounded from above only, c₊(m, ·) ("one-sided", and None).
    cells : sequence of (K₀, z, share)
        The prior's concentration, the margin ``γ = z/(2√(K₀+1))`` in standard deviations of an even
        vote drawn from the prior, and the share of δ. To be fixed without looking at the sample.

    References
    ----------
    F. Biggs, V. Zantedeschi and B. Guedj, "On Margins and Generalisation for Voting Classifiers",
    NeurIPS 2022, arXiv:2206.04607.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import VoteStatistics, format_up
    >>> from certivote.bounds import DirichletBound
    >>> losses = np.random.default_rng(0).random((2000, 50)) < 0.2
    >>> statistics = VoteStatistics.from_losses(losses, keep_rows=True)
    >>> format_up(DirichletBound().value(statistics, np.full(50, 1 / 50)))
    '0.0021'
    """

    name = "dirichlet"
    formula = "kl⁺(ℓ_S | [KL(Dir(Kq)‖Dir(K₀p)) + ln(c₂(m)/δ_c)]/m)/(1−ε), smallest over K and cells"
    reference = "Biggs, Zantedeschi & Guedj, NeurIPS 2022, arXiv:2206.04607"
    needs = frozenset({"rows"})
    constants = ("anytime", "maurer", "exact", "one-sided")
    settings: ClassVar[Mapping[str, Setting]] = {
        "delta": DELTA,
        "constant": CONSTANT,
        "cells": Setting("Cells", "fixed in advance: K₀, the margin 2γ√(K₀+1), and the share of δ"),
    }
    figures: ClassVar[Mapping[str, Figure]] = {
        "margin_loss": Figure(
            "Margin loss ℓ",
            "how often a vote drawn near this one errs, or nearly does",
            "margin loss",
            4,
        ),
        "cell": Figure(
            "Cell", "the one of the cells, counted from 0, that gives the smallest bound"
        ),
        "concentration": Figure(
            "Concentration K", "how near to this vote the drawn ones are", "concentration", 3
        ),
        "margin_size": Figure("Examples behind ℓ", "all of them", is_size=True),
    }

    def __init__(
        self,
        delta: float = 0.05,
        constant: str | None = None,
        cells: Sequence[Sequence[float]] = (
            (1e6, 4.0, 0.85),
            (3000.0, 2.0, 0.05),
            (300.0, 1.5, 0.05),
            (30.0, 1.5, 0.05),
        ),
    ) -> None:
        super().__init__(delta, constant)
        self.cells = cells

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        super().check_parameters()
        self._checked_cells()

    def _checked_cells(self) -> list[_Cell]:
        cells = self.cells
        if not isinstance(cells, Sequence) or isinstance(cells, str) or not cells:
            raise ValueError(f"cells must be a list of (K₀, z, share), got {cells!r}.")
        checked, shares = [], []
        for cell in cells:
            if not isinstance(cell, Sequence) or isinstance(cell, str) or len(cell) != 3:
                raise ValueError(f"cells must hold three numbers (K₀, z, share), got {cell!r}.")
            prior = check_number("the K₀ of cells", cell[0], 1.0, 1e9)
            z = check_number("the z of cells", cell[1], 0.0, math.sqrt(prior + 1.0))
            share = check_number("the share of cells", cell[2], 0.0, 1.0)
            gamma = z / (2.0 * math.sqrt(prior + 1.0))
            if not 0.0 < gamma < 0.5 or share == 0.0:
                raise ValueError(
                    f"cells must have 0 < z < √(K₀+1) and a positive share, got {cell!r}."
                )
            shares.append(share)
            checked.append(_Cell(prior, 0.5 - gamma, share))
        if math.fsum(shares) > 1.0:
            raise ValueError(f"cells must have shares that sum to at most 1, got {shares!r}.")
        return checked

    def members(self) -> tuple[Bound, ...]:
        """Return one bound for each cell, at its share of δ."""
        if len(self.cells) == 1:
            return (self,)
        return tuple(
            DirichletBound(float(self.delta) * float(share), self.constant, ((prior, z, 1.0),))
            for prior, z, share in self.cells
        )

    def fixed_weights(self, p: _Array) -> list[_Array]:
        """Return the prior: near it the divergence is small."""
        return [p]

    def least(self, statistics: Statistics, p: _Array) -> float:
        """Return the value if only examples on which every voter errs had a loss, at no KL."""
        m, tables = statistics.n_samples, tables_of((p > 0.0) / np.count_nonzero(p))
        lost = sum(
            int(np.count_nonzero(erring_weight(rows, tables) > 1.0 - 0.5 / p.size))
            for rows in statistics.packed_chunks()
        )
        return min(self.upper(lost / m, 1, 0.0, m, x.share).value for x in self._checked_cells())

    # --- the value -----------------------------------------------------------------------------

    def value_at(self, statistics: Statistics, q: _Array, p: _Array) -> float:
        """Return the certificate at the best K and cell, rounded up."""
        return self._from_evidence(self._evidence(statistics, q, p), q, p)

    def evidence(
        self, statistics: Statistics, weights: ArrayLike, prior: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the best cell and K, ℓ_S there, rounded up, and the number of examples."""
        return self._evidence(statistics, *self._check(statistics, weights, prior))

    def evidence_again(
        self,
        evidence: Mapping[str, Any],
        statistics: Statistics,
        weights: ArrayLike,
        prior: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """Return ℓ_S at the cell and the K of the evidence: any are as valid as the best."""
        q, _ = self._check(statistics, weights, prior)
        number, cell, concentration = self._choice(evidence)
        return self._evidence_at(statistics, q, number, cell, concentration)

    def _evidence(self, statistics: Statistics, q: _Array, p: _Array) -> dict[str, Any]:
        number, cell, concentration = self._best_choice(statistics, q, p)
        return self._evidence_at(statistics, q, number, cell, concentration)

    def _evidence_at(
        self, statistics: Statistics, q: _Array, number: int, cell: _Cell, concentration: float
    ) -> dict[str, Any]:
        tables, total = tables_of(q), 0.0
        # W is a sum of n non-negative numbers that may themselves sum to 1 but for rounding. The
        # tail increases with W.
        upwards = 1.0 + (2 * q.size + 16) * _EPS
        for rows in statistics.packed_chunks():
            share = np.minimum(1.0, erring_weight(rows, tables) * upwards)
            total += float(upper_tail(share, concentration, cell.threshold).sum())
        # What `upper_tail` neglects is far less than what the value is rounded up by.
        mean = total / statistics.n_samples * (1.0 + _TAIL_ERROR)
        return {
            "margin_loss": min(1.0, mean),
            "cell": number,
            "concentration": concentration,
            "margin_size": statistics.n_samples,
        }

    def from_evidence(
        self, evidence: Mapping[str, Any], weights: ArrayLike, prior: ArrayLike
    ) -> float:
        """Return the certificate from ℓ_S, K, the cell, the weights and the prior, rounded up."""
        self.check_parameters()
        q = check_distribution("weights", weights, np.size(weights))
        p = check_prior(prior, q.size, q)
        return self._from_evidence(evidence, q, p)

    def _choice(self, evidence: Mapping[str, Any]) -> tuple[int, _Cell, float]:
        cells, number = self._checked_cells(), evidence.get("cell")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(cells):
            raise ValueError(f"cell must be an index into the {len(cells)} cells, got {number!r}.")
        concentration = evidence.get("concentration")
        return (
            number,
            cells[number],
            check_number("concentration", concentration, _SMALLEST, _LARGEST),
        )

    def _from_evidence(self, evidence: Mapping[str, Any], q: _Array, p: _Array) -> float:
        known = {"margin_loss", "cell", "concentration", "margin_size"}
        unknown = sorted(set(evidence) - known)
        if unknown:
            raise ValueError(
                f"evidence must hold {', '.join(sorted(known))} only, got {unknown[0]!r} too."
            )
        _, cell, concentration = self._choice(evidence)
        mean = check_number("margin_loss", evidence.get("margin_loss"), 0.0, 1.0)
        m = check_count("margin_size", evidence.get("margin_size"))
        divergence = dirichlet_kl(q, concentration, p, cell.concentration)
        if math.isinf(divergence):
            return 1.0
        failure = _failure(concentration, cell.threshold, q.size)[0]
        largest = self.upper(mean, 1, divergence, m, cell.share).value
        return min(1.0, round_up(largest / (1.0 - failure)))

    # --- the best K and cell ---------------------------------------------------------------------

    def _best_choice(
        self, statistics: Statistics, q: _Array, p: _Array
    ) -> tuple[int, _Cell, float]:
        """Return the cell and K with the smallest value, but for rounding."""
        cells = self._checked_cells()
        if np.any((q == 0.0) & (p > 0.0)):  # an infinite divergence, whatever K
            return 0, cells[0], cells[0].concentration

        m, tables = statistics.n_samples, tables_of(q)
        weights = [erring_weight(rows, tables) for rows in statistics.packed_chunks()]
        # Under the uniform prior there are few different ones.
        shares, times = np.unique(np.minimum(1.0, np.concatenate(weights)), return_counts=True)

        def objective(cell: _Cell, step: float) -> tuple[float, float]:
            """Return the objective at K = K₀·exp(step), and its derivative in the step."""
            concentration = _concentration(cell, step)
            tail, in_a, in_b = tails_of(concentration, cell.threshold)(shares) * times / m
            point, by_mean = self._from_tails(
                cell, q, concentration, p, m, float(tail.sum()), float(in_b.sum())
            )
            erring = float(np.sum(shares * (in_a - in_b)))
            return point.value, concentration * (by_mean * erring + float(q @ point.gradient))

        trials = [[(*objective(cell, step), step) for step in _STEPS] for cell in cells]
        best = min(min(points)[0] for points in trials)
        choices = []
        for number, (cell, points) in enumerate(zip(cells, trials, strict=True)):
            if min(points)[0] <= _HOPELESS * best:
                step = _lowest(partial(objective, cell), min(points))
                choices.append((objective(cell, step)[0], number, step))
        _, number, step = min(choices)
        return number, cells[number], _concentration(cells[number], step)

    # --- what is descended -----------------------------------------------------------------------

    def _at(
        self,
        cell: _Cell,
        statistics: Statistics,
        q: _Array,
        concentration: float,
        p: _Array,
    ) -> _Point:
        """Return an objective that rises and falls with the value, and its gradient in α = K·q."""
        m, tables = statistics.n_samples, tables_of(q)
        tails = tails_of(concentration, cell.threshold)
        mean, other, erring = 0.0, 0.0, np.zeros(q.size)
        for rows in statistics.packed_chunks():
            tail, in_a, in_b = tails(np.minimum(1.0, erring_weight(rows, tables)))
            mean += float(tail.sum()) / m
            other += float(in_b.sum()) / m
            erring += transposed_product(rows, (in_a - in_b) / m, q.size)
        point, by_mean = self._from_tails(cell, q, concentration, p, m, mean, other)
        return _Point(point.value, point.gradient + by_mean * erring)

    def _from_tails(
        self,
        cell: _Cell,
        q: _Array,
        concentration: float,
        p: _Array,
        m: int,
        mean: float,
        other: float,
    ) -> tuple[_Point, float]:
        """Return the objective from ℓ_S and its derivative in b, and that in ℓ_S.

        Its gradient in α lacks the part through the weights that err, which is for the caller.
        """
        prior = cell.concentration
        divergence = dirichlet_kl(q, concentration, p, prior)
        failure, in_k = _failure(concentration, cell.threshold, q.size)
        value, by_mean, by_radius, by_failure = self._objective(
            min(1.0, mean), divergence, m, cell, failure
        )
        # dKL/dα = (α−β) ψ′(α) − (K−K₀) ψ′(K), where ψ′ is Hurwitz' zeta function at 2.
        common = by_mean * other + by_failure * in_k
        common -= by_radius / m * (concentration - prior) * float(zeta(2.0, concentration))
        gradient = np.full(q.size, common)
        allowed = p > 0.0
        alpha, beta = concentration * q[allowed], prior * p[allowed]
        gradient[allowed] += by_radius / m * (alpha - beta) * zeta(2.0, alpha)
        return _Point(value, gradient), by_mean

    def _objective(
        self, mean: float, divergence: float, m: int, cell: _Cell, failure: float
    ) -> tuple[float, float, float, float]:
        """Return the value, or what continues it where it is flat, with its three derivatives.

        They are those in ℓ_S, in the radius and in ε.
        """
        scale = 1.0 / (1.0 - failure)
        inverse = self.upper(mean, 1, divergence, m, cell.share)
        value = inverse.value * scale
        if value < _FLAT:
            # Where no example has any loss, none can be lost or won by moving the weights a little.
            by_mean = inverse.frequency if mean > 0.0 else 0.0
            return value, by_mean * scale, inverse.psi * scale, value * scale
        # The value is at least that level where the radius is at least kl(mean‖edge).
        edge = _FLAT * (1.0 - failure)
        radius, slope = self.radius_at(edge, 1, divergence, m, cell.share)
        inner = min(max(mean, 1e-300), 1.0 - _EPS)
        sign = 1.0 if inner <= edge else -1.0
        height = radius - sign * binary_kl(inner, edge)
        by_mean = -sign * math.log(inner / edge * (1.0 - edge) / (1.0 - inner))
        by_edge = slope - sign * (edge - inner) / (edge * (1.0 - edge))
        return _FLAT + height, by_mean, 1.0, -by_edge * _FLAT

    def evaluate(self, statistics: Statistics, q: _Array, p: _Array) -> tuple[float, _Array]:
        """Return value and gradient at weights and a prior that have been checked."""
        evidence = self._evidence(statistics, q, p)
        value = self._from_evidence(evidence, q, p)
        if value >= 1.0:
            return value, np.zeros(q.size)
        _, cell, concentration = self._choice(evidence)
        # At the best K its own derivative vanishes: what is left is that in q at this K.
        return value, concentration * self._at(cell, statistics, q, concentration, p).gradient

    def descent(
        self, statistics: Statistics, logits: _Array, p: _Array, log_prior: _Array
    ) -> tuple[float, _Array]:
        """Return an objective in the logits, which hold the concentration too."""
        # α = K₀·p·exp(logits): the logits hold the weights and, in their scale, the concentration.
        # The prior's own is at 0. A solver descends the members, which have one cell each.
        (cell,) = self._checked_cells()
        alpha = cell.concentration * p * np.exp(np.clip(logits, -_FAR, _FAR))
        concentration = float(alpha.sum())
        point = self._at(cell, statistics, alpha / concentration, concentration, p)
        return point.value, alpha * point.gradient


def _concentration(cell: _Cell, step: float) -> float:
    """Return K = K₀·exp(step), or the nearest one at which tails can be computed."""
    return min(max(cell.concentration * math.exp(step), _SMALLEST), _LARGEST)


def _failure(concentration: float, threshold: float, n_voters: int) -> tuple[float, float]:
    """Return ε, rounded up, and its derivative in K.

    It is the probability that a vote drawn around one that errs, though barely, has the margin.
    """
    # Where `predict` errs, the right class has at most the share of another one and 1e-12, the two
    # together at most 1: so W ≥ ½ − ½·1e-12, but for the rounding of two sums of n numbers.
    share = 0.5 - _TIE - 2 * n_voters * _EPS
    a = concentration * share
    failure = float(betainc(a, concentration - a, threshold)) * (1.0 + _TAIL_ERROR)
    _, in_a, in_b = tails_of(concentration, threshold)(np.array([share]))
    return failure, -float(in_a[0] * share + in_b[0] * (1.0 - share))


def _lowest(
    objective: Callable[[float], tuple[float, float]], start: tuple[float, float, float]
) -> float:
    """Return where a function is lowest, downhill from a point (value, derivative, step)."""
    from scipy.optimize import brentq

    _, slope, step = start
    known = {step: slope}

    def derivative(step: float) -> float:
        if step not in known:
            known[step] = objective(step)[1]
        return known[step]

    stride = 0.25 if slope < 0.0 else -0.25
    while slope * stride < 0.0 and abs(step) < _FARTHEST:
        previous, step = step, step + stride
        stride *= 2.0
        if derivative(step) * slope <= 0.0:
            return float(brentq(derivative, previous, step, xtol=1e-8))
    return step
